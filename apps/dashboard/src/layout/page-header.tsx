import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { SplitSide } from "./split-side.ts";

interface PageHeaderProps {
  readonly title: ComponentChildren;
  /** A sentence that adds to the title, or the id of the page's subject. */
  readonly children?: ComponentChildren;
  /** The buttons. The primary one is the last, on the right. */
  readonly actions?: ComponentChildren;
}

/** The header of a page: its title and its actions. */
export function PageHeader({ title, children, actions }: PageHeaderProps) {
  const side = useContext(SplitSide);
  return (
    <header class="page-header">
      <div>
        {/* A list beside the page of one of its rows has no `h1`, because that page is the subject of the address. */}
        {side === "list" ? <h2>{title}</h2> : <h1>{title}</h1>}
        {children !== undefined && children !== null && <p class="muted">{children}</p>}
      </div>
      {Boolean(actions) && side !== "list" && <div class="row">{actions}</div>}
    </header>
  );
}
