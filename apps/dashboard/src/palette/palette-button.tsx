import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Icon } from "../components/icon.tsx";

type PaletteComponent = ComponentType<{ readonly onClose: () => void }>;

/** The keys that open the palette, as this system's keyboards name them. */
const SHORTCUT = navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K";

/** Opens the palette. */
export function PaletteButton({ onOpen }: { readonly onOpen: () => void }) {
  return (
    <button type="button" class="palette-button" aria-keyshortcuts="Control+K Meta+K" onClick={onOpen}>
      <Icon name="search" />
      <span>Go to …</span>
      <kbd>{SHORTCUT}</kbd>
    </button>
  );
}

interface PaletteSlotProps {
  readonly isOpen: boolean;
  readonly onChange: (isOpen: boolean) => void;
}

/**
 * Where the palette is, and the shortcut that opens it. Its module is loaded with its first use. It stands beside the
 * navigation and not in it: on a phone, and where the page is zoomed, the navigation is hidden with all that is in it.
 */
export function PaletteSlot({ isOpen, onChange }: PaletteSlotProps) {
  const [Palette, setPalette] = useState<PaletteComponent>();
  // With the page and not after it: a key that is pressed as soon as the page is seen must not be lost.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      onChange(true);
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, [onChange]);
  useEffect(() => {
    if (!isOpen || Palette !== undefined) return;
    import("./palette.tsx").then(
      // As a function of the state: a component is one itself.
      (loaded) => setPalette(() => loaded.Palette),
      // Another press tries again.
      () => onChange(false),
    );
  }, [isOpen, Palette, onChange]);
  return isOpen && Palette !== undefined ? <Palette onClose={() => onChange(false)} /> : null;
}
