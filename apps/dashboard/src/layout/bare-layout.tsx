import type { ComponentChildren } from "preact";
import { Brand } from "./brand.tsx";
import "./layout.css";

/** The frame of pages without a session: a header with the operator's name, and the page. */
export function BareLayout({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="bare">
      <header class="bare-head">
        <Brand />
      </header>
      <main id="main" class="bare-main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
