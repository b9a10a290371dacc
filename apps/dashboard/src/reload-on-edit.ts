/** In development: reloads the page when the pages have been built again. */

const POLL_INTERVAL_MS = 500;
const PAGE = `${import.meta.env.BASE_URL}index.html`;

/** The ETag of the shown page. Undefined: not yet known. */
let shown: string | undefined;

setInterval(() => {
  fetch(PAGE, { method: "HEAD", cache: "no-store" }).then(
    (response) => {
      const etag = response.headers.get("etag");
      // While the server restarts, no page is served.
      if (!response.ok || etag === null) return;
      if (shown !== undefined && shown !== etag) location.reload();
      shown = etag;
    },
    () => undefined,
  );
}, POLL_INTERVAL_MS);
