import { useQuery } from "@tanstack/preact-query";
import { useLocation } from "wouter-preact";
import { isEmbedded } from "../embedding.ts";
import { pageAt } from "../pages.ts";

/** Whether the service has a page: configuration may leave out everything below /docs. */
export function useHasDocument(address: string): boolean {
  const { data } = useQuery({
    queryKey: ["documents", address],
    queryFn: async ({ signal }) => (await fetch(address, { method: "HEAD", signal })).ok,
    staleTime: Infinity,
    retry: false,
  });
  return data === true;
}

/** Leads to the guide that fits the page. */
export function DocsLink() {
  const [path] = useLocation();
  const hasGuides = useHasDocument("/docs");
  if (!hasGuides) return null;
  const guide = pageAt(path)?.guide;
  return (
    <a
      class="nav-link"
      href={guide === undefined ? "/docs" : `/docs/${guide}`}
      // No frame may show other documents of the service.
      target={isEmbedded ? "_blank" : undefined}
    >
      Docs
    </a>
  );
}
