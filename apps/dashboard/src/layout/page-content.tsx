import type { ComponentType } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { connection } from "../api/api.ts";
import { ErrorState } from "../components/error-state.tsx";
import { Loading } from "../components/loading.tsx";
import type { Page } from "../page.ts";
import { useBranding } from "../session/branding.ts";

/** Components of pages whose modules are already loaded. */
const loadedPages = new Map<Page, ComponentType>();

/** Loads the module of a page. */
export async function loadPage(page: Page): Promise<ComponentType> {
  const loaded = await page.load();
  loadedPages.set(page, loaded);
  return loaded;
}

interface PageContentProps {
  readonly page: Page;
  /** Whether two pages are shown: a list and one of its items. The focus and the scroll position then stay. */
  readonly isBeside?: boolean;
}

/** Loads the module of a page, and shows it. Callers give it a key, so that each instance shows one page. */
export function PageContent({ page, isBeside = false }: PageContentProps) {
  const [Content, setContent] = useState(() => loadedPages.get(page));
  const [failure, setFailure] = useState<unknown>();
  const [crash, resetCrash] = useErrorBoundary() as [unknown, () => void];
  const [path] = useLocation();
  const { name } = useBranding();
  useEffect(() => {
    let isCurrent = true;
    loadPage(page).then(
      // Wrapped in a function: a component is a function, which the setter would call.
      (loaded) => isCurrent && setContent(() => loaded),
      (error: unknown) => {
        connection.check();
        if (isCurrent) setFailure(error);
      },
    );
    return () => void (isCurrent = false);
  }, [page]);
  // `isBeside` changes when the page beside a list is closed. The list must then set its own title again.
  useEffect(() => {
    document.title = `${page.title} · ${name}`;
  }, [page, name, isBeside]);
  useEffect(() => {
    // A crash was that of the page shown before.
    resetCrash();
    if (isBeside) return;
    // Moves the focus to the new page, so that screen readers continue there. Leaves it if nothing has the focus, as
    // after loading.
    const main = document.getElementById("main");
    if (main !== null && document.activeElement !== document.body) main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [path]);
  if (crash !== undefined && crash !== null) return <ErrorState isPage error={crash} onRetry={resetCrash} />;
  // A reload helps after an upgrade of the service: the module files of the older version no longer exist.
  if (failure !== undefined) return <ErrorState isPage error={failure} onRetry={() => location.reload()} />;
  return Content === undefined ? <Loading /> : <Content />;
}
