import type { ComponentType } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../components/icon.tsx";
import type { EarlyKeys, PaletteProps } from "./palette.tsx";

type PaletteComponent = ComponentType<PaletteProps>;

const NO_KEYS: EarlyKeys = { text: "", isEntered: false };

/** The keys that open the palette, as this operating system names them. */
const SHORTCUT = navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K";

/** A button that opens the palette: a search box for pages and things. */
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
 * Renders the palette when it is open, and handles the shortcut that opens it. Loads the palette's module on the first use.
 * This component is not inside the navigation, because a phone hides the navigation with its content.
 */
export function PaletteSlot({ isOpen, onChange }: PaletteSlotProps) {
  const [Palette, setPalette] = useState<PaletteComponent>();
  const takeEarly = useEarlyKeys(isOpen, Palette !== undefined, onChange);
  useEffect(() => {
    if (!isOpen || Palette !== undefined) return;
    import("./palette.tsx").then(
      // Wrapped in a function: a component is a function, which the setter would call.
      (loaded) => setPalette(() => loaded.Palette),
      // Closes the palette, so that opening it again retries.
      () => onChange(false),
    );
  }, [isOpen, Palette, onChange]);
  if (!isOpen || Palette === undefined) return null;
  return <Palette onClose={() => onChange(false)} takeEarly={takeEarly} />;
}

/**
 * Opens the palette on its shortcut, and collects the typed keys until the palette's input exists. Returns a function that
 * returns the collected keys and ends the collecting.
 */
function useEarlyKeys(isOpen: boolean, isLoaded: boolean, onChange: (isOpen: boolean) => void) {
  /** The collected keys. Undefined: the palette is closed, or its input receives the keys itself. */
  const early = useRef<EarlyKeys | undefined>(undefined);
  // The palette may also be opened by its button. Keys are then collected while the module is loaded.
  useLayoutEffect(() => {
    if (!isOpen) early.current = undefined;
    else if (!isLoaded) early.current ??= NO_KEYS;
  }, [isOpen, isLoaded]);
  // A layout effect adds the listener before the page is visible, so that no early key is lost.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const isCommand = event.ctrlKey || event.metaKey;
      if (isCommand && event.key.toLowerCase() === "k" && !event.shiftKey && !event.altKey) {
        event.preventDefault();
        if (!isOpen) early.current ??= NO_KEYS;
        onChange(true);
        return;
      }
      const next = early.current === undefined || isCommand ? undefined : afterKey(early.current, event.key);
      if (next === undefined) return;
      event.preventDefault();
      // The page's other handlers must not see this key press.
      event.stopPropagation();
      early.current = next;
    };
    document.addEventListener("keydown", listener, true);
    return () => document.removeEventListener("keydown", listener, true);
  }, [isOpen, onChange]);
  return useCallback(() => {
    const keys = early.current ?? NO_KEYS;
    early.current = undefined;
    return keys;
  }, []);
}

/** Returns the collected keys after one more; undefined if the key is not collected. */
function afterKey(keys: EarlyKeys, key: string): EarlyKeys | undefined {
  if (key === "Enter") return { ...keys, isEntered: true };
  if (key === "Backspace") return { text: keys.text.slice(0, -1), isEntered: false };
  return key.length === 1 ? { text: keys.text + key, isEntered: false } : undefined;
}
