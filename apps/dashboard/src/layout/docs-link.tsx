import { useLocation } from "wouter-preact";
import { Icon } from "../components/icon.tsx";
import { isEmbedded } from "../embedding.ts";
import { pageAt } from "../pages.ts";
import { useHasDocument } from "./has-document.ts";

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
      // Frames must not show other documents of the service.
      target={isEmbedded ? "_blank" : undefined}
    >
      <Icon name="book" />
      Docs
    </a>
  );
}
