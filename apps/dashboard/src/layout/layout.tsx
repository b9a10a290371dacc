import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { Icon } from "../components/icon.tsx";
import { setTimeZone } from "../components/time-zone.ts";
import { PaletteSlot } from "../palette/palette-button.tsx";
import { useCurrentMembership } from "../session/session.ts";
import { AccountMenu } from "./account-menu.tsx";
import { Brand } from "./brand.tsx";
import { Navigation } from "./navigation.tsx";
import { SandboxBand } from "./sandbox-band.tsx";
import { VisitNotice } from "./visit-notice.tsx";
import "./layout.css";

/** The frame of all pages behind the sign-in: navigation at the side, or behind a button on a phone. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [path] = useLocation();
  // Sets the zone before the page below is rendered, because the page shows times.
  setTimeZone(useCurrentMembership()?.time_zone);
  const Shortcuts = useShortcuts();
  // On a phone, the navigation closes when another page is opened.
  useEffect(() => setOpen(false), [path]);
  return (
    <div class="layout">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="side" onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
        <div class="side-head">
          <Brand />
          <button
            type="button"
            class="side-toggle copy"
            aria-expanded={isOpen}
            aria-controls="side-body"
            aria-label={isOpen ? "Close the navigation" : "Open the navigation"}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name={isOpen ? "close" : "menu"} />
          </button>
        </div>
        <div id="side-body" class={isOpen ? "side-body side-open" : "side-body"}>
          <Navigation onPalette={() => setPaletteOpen(true)} />
          <AccountMenu />
        </div>
      </header>
      <main id="main" class="page" tabIndex={-1}>
        <SandboxBand />
        <VisitNotice />
        {children}
      </main>
      {Shortcuts !== undefined && <Shortcuts />}
      <PaletteSlot isOpen={isPaletteOpen} onChange={setPaletteOpen} />
    </div>
  );
}

/** Returns the component that handles keyboard shortcuts; undefined until its module is loaded, after the first page. */
function useShortcuts(): ComponentType | undefined {
  const [Shortcuts, setShortcuts] = useState<ComponentType>();
  useEffect(() => {
    import("./shortcuts.tsx").then(
      // Wrapped in a function: a component is a function, which the setter would call.
      (loaded) => setShortcuts(() => loaded.Shortcuts),
      // Every page works without shortcuts, so a failure is ignored.
      () => undefined,
    );
  }, []);
  return Shortcuts;
}
