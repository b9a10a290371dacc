import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { useCurrentMembership, useSignedIn } from "../session/session.ts";
import { type PaletteItem, paletteItems } from "./palette-items.ts";
import { noteRecentPage, readRecentPages } from "./recent-pages.ts";
import "./palette.css";

/** A box to type into that leads to any page, and to anything whose id is known. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [selected, setSelected] = useState(0);
  const [, navigate] = useLocation();
  const { memberships, person } = useSignedIn();
  const current = useCurrentMembership();
  const items = paletteItems(typed, { memberships, current, recent: readRecentPages(person.id) });
  const index = Math.min(selected, items.length - 1);
  useEffect(() => dialog.current?.showModal(), []);
  const open = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    noteRecentPage(person.id, item);
    dialog.current?.close();
    navigate(item.address);
  };
  const press = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) setSelected((index + step + items.length) % Math.max(1, items.length));
    else if (event.key === "Enter") open(items[index]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Go to"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <Results
        {...{ typed, items, index, open }}
        onKeyDown={press}
        onInput={(text) => {
          setTyped(text);
          setSelected(0);
        }}
      />
    </dialog>
  );
}

interface ResultsProps {
  readonly typed: string;
  readonly items: readonly PaletteItem[];
  readonly index: number;
  readonly open: (item: PaletteItem) => void;
  readonly onInput: (text: string) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function Results({ typed, items, index, open, onInput, onKeyDown }: ResultsProps) {
  const id = useId();
  return (
    <>
      <input
        class="palette-input"
        role="combobox"
        aria-label="A page, or the id of anything"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={items.length > 0 ? `${id}-${index}` : undefined}
        aria-autocomplete="list"
        placeholder="A page, or the id of anything"
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
            // The keyboard has the arrow keys; the focus stays in the box.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => open(item)}
          >
            <span class="palette-title">{item.title}</span>
            <span class="muted">{item.detail}</span>
          </div>
        ))}
      </div>
      <p class="palette-foot muted" role="status">
        {items.length === 0 ? "No page and no id like this." : "↑ ↓ to choose, Enter to open, Escape to close"}
      </p>
    </>
  );
}
