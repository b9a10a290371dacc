import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { SplitSide } from "./split-side.ts";

interface PageHeaderProps {
  readonly title: ComponentChildren;
  /** A sentence that tells what the title does not, or the id of what the page is about. */
  readonly children?: ComponentChildren;
  /** The primary action last, on the right. */
  readonly actions?: ComponentChildren;
}

/** The header of every page: its title and its actions. */
export function PageHeader({ title, children, actions }: PageHeaderProps) {
  const side = useContext(SplitSide);
  return (
    <header class="page-header">
      <div>
        {/* Beside the page of one of its rows the list is not what the address is about. */}
        {side === "list" ? <h2>{title}</h2> : <h1>{title}</h1>}
        {children !== undefined && children !== null && <p class="muted">{children}</p>}
      </div>
      {Boolean(actions) && side !== "list" && <div class="row">{actions}</div>}
    </header>
  );
}
