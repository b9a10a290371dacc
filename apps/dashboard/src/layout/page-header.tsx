import type { ComponentChildren } from "preact";

interface PageHeaderProps {
  readonly title: ComponentChildren;
  /** The purpose of the page, in a sentence. */
  readonly children?: ComponentChildren;
  readonly actions?: ComponentChildren;
}

/** The header of every page: its title and its actions. */
export function PageHeader({ title, children, actions }: PageHeaderProps) {
  return (
    <header class="page-header">
      <div>
        <h1>{title}</h1>
        {children !== undefined && <p class="muted">{children}</p>}
      </div>
      {actions !== undefined && <div class="row">{actions}</div>}
    </header>
  );
}
