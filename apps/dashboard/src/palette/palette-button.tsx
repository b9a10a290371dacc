import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../components/icon.tsx";

type PaletteComponent = ComponentType<{ readonly onClose: () => void }>;

/** The keys that open the palette, as this system's keyboards name them. */
const SHORTCUT = navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K";

/** Opens the palette, as does its shortcut. Its module is loaded with its first use. */
export function PaletteButton() {
  const [isOpen, setOpen] = useState(false);
  const [Palette, setPalette] = useState<PaletteComponent>();
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
  useEffect(() => {
    if (!isOpen || Palette !== undefined) return;
    import("./palette.tsx").then(
      // As a function of the state: a component is one itself.
      (loaded) => setPalette(() => loaded.Palette),
      // Another press tries again.
      () => setOpen(false),
    );
  }, [isOpen, Palette]);
  return (
    <>
      <button type="button" class="palette-button" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        <Icon name="search" />
        <span>Go to …</span>
        <kbd>{SHORTCUT}</kbd>
      </button>
      {isOpen && Palette !== undefined && <Palette onClose={() => setOpen(false)} />}
    </>
  );
}
