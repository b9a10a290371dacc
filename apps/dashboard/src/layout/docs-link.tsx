import { useLocation } from "wouter-preact";
import { Icon } from "../components/icon.tsx";
import { isEmbedded } from "../embedding.ts";
import { pageAt } from "../pages.ts";
import { useHasDocument } from "./has-document.ts";

/** A link to the guide about the open page, or to all guides. */
export function DocsLink() {
  const [path] = useLocation();
  const hasGuides = useHasDocument("/docs");
  if (!hasGuides) return null;
  const guide = pageAt(path)?.guide;
  return (
    <a
      class="nav-link"
      href={guide === undefined ? "/docs" : `/docs/${guide}`}
      // In a frame the guide opens in a new tab, because the service forbids frames of other documents.
      target={isEmbedded ? "_blank" : undefined}
    >
      <Icon name="book" />
      Docs
    </a>
  );
}
