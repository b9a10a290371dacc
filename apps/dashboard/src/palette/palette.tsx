import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { useCloseOutside } from "../components/dialog.tsx";
import { useCurrentMembership, useSignedIn } from "../session/session.ts";
import { type Finds, useFinds } from "./palette-finds.ts";
import { currentFirst, isCredential, type PaletteItem, paletteItems } from "./palette-items.ts";
import { noteRecentPage, readRecentPages } from "./recent-pages.ts";
import "./palette.css";

export interface PaletteProps {
  readonly onClose: () => void;
  /** Returns the keys that were pressed before the palette's input existed, and stops collecting keys. */
  readonly takeEarly: () => EarlyKeys;
}

/** The keys that the reader pressed after opening the palette, before its module was loaded. */
export interface EarlyKeys {
  readonly text: string;
  /** Whether the last key was Enter. */
  readonly isEntered: boolean;
}

/** The palette: a search box that leads to any page, and to anything by its id or name. */
export function Palette({ onClose, takeEarly }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [early] = useState(takeEarly);
  const [typed, setTyped] = useState(early.text);
  const [selected, setSelected] = useState(0);
  const [, navigate] = useLocation();
  const { person } = useSignedIn();
  // `items` are all suggestions. `finds` says whether the search of the service still runs or has failed.
  const { items, finds } = useItems(typed);
  // Whether Enter was pressed before anything was found. The first result is then opened as soon as it arrives.
  const [isEntered, setEntered] = useState(early.isEntered);
  const index = Math.min(selected, items.length - 1);
  // A layout effect opens the dialog before the next key, which belongs to its input.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const open = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    noteRecentPage(person.id, item);
    dialog.current?.close();
    navigate(item.address);
  };
  const press = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step === undefined && event.key !== "Enter") return;
    event.preventDefault();
    // Arrow keys go round: from the last item to the first, and back.
    if (step !== undefined) setSelected((index + step + items.length) % Math.max(1, items.length));
    else if (items.length === 0) setEntered(finds.isPending);
    else open(items[index]);
  };
  useAwaited(isEntered && (items.length > 0 || !finds.isPending), () => {
    setEntered(false);
    open(items[0]);
  });
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={onClose} {...useCloseOutside(dialog)}>
      <Results
        {...{ typed, items, index, open, finds }}
        onKeyDown={press}
        onInput={(text) => {
          setTyped(text);
          setSelected(0);
          setEntered(false);
        }}
      />
    </dialog>
  );
}

/** Calls `act` as soon as `isReady` is true. */
function useAwaited(isReady: boolean, act: () => void): void {
  useEffect(() => {
    if (isReady) act();
  }, [isReady]);
}

/** Returns the suggestions for the text, from the pages and from the service. */
function useItems(typed: string) {
  const { memberships: all, person } = useSignedIn();
  const memberships = currentFirst(all, useCurrentMembership());
  const finds = useFinds(typed, memberships, all);
  const recent = readRecentPages(person.id);
  return { items: paletteItems(typed, { memberships, all, recent }, finds.items), finds };
}

interface ResultsProps {
  readonly typed: string;
  readonly items: readonly PaletteItem[];
  readonly index: number;
  readonly finds: Omit<Finds, "items">;
  readonly open: (item: PaletteItem) => void;
  readonly onInput: (text: string) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function Results({ typed, items, index, finds, open, onInput, onKeyDown }: ResultsProps) {
  const id = useId();
  return (
    <>
      <input
        class="palette-input"
        role="combobox"
        aria-label="Search pages, names and ids"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={items.length > 0 ? `${id}-${index}` : undefined}
        aria-autocomplete="list"
        placeholder="Search pages, names and ids"
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={typed}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} class="palette-list" role="listbox" aria-label="Results">
        {items.map((item, position) => (
          <div
            key={item.address}
            id={`${id}-${position}`}
            role="option"
            aria-selected={position === index}
            class="palette-item"
            // A press must not take the focus from the input, in which the arrow keys choose an item.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => open(item)}
          >
            <span class="palette-title">{item.title}</span>
            <span class="muted">{item.detail}</span>
          </div>
        ))}
      </div>
      <p class="palette-foot muted" role="status">
        {footText(typed, items.length, finds)}
      </p>
    </>
  );
}

function footText(typed: string, count: number, { isPending, error }: ResultsProps["finds"]): string {
  if (isCredential(typed)) return "Keys and secrets are not searched for: paste none here.";
  if (error !== null) return `Search failed: ${error.message}`;
  if (count > 0) return "↑ ↓ to choose, Enter to open, Escape to close";
  return isPending ? "Searching …" : "No page, name or id matches.";
}
