import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import "./tabs.css";

/** A tab, and a function that renders what it shows. It is called only for the selected tab. */
export interface Tab {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly content: () => ComponentChildren;
}

interface TabsProps {
  /** The accessible name of the group of tabs. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}

/** Tabs that show one of several views. Arrow keys, Home and End switch between the tabs. */
export function Tabs({ label, tabs, selected, onSelect }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const current = tabs.find((tab) => tab.id === selected) ?? tabs[0];
  if (current === undefined) return null;
  const move = (event: KeyboardEvent) => {
    const target = targetOf(event.key, tabs.indexOf(current), tabs.length);
    const tab = target === undefined ? undefined : tabs[target];
    if (tab === undefined || target === undefined) return;
    event.preventDefault();
    onSelect(tab.id);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[target]?.focus();
  };
  return (
    <div class="tabs">
      <div ref={list} role="tablist" aria-label={label} class="tab-list" onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            class="tab"
            aria-selected={tab === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current.id}`} tabIndex={0} class="tab-panel">
        {current.content()}
      </div>
    </div>
  );
}

/**
 * Returns the index of the tab to which a key moves; undefined: the key moves to none. The arrow keys wrap around at
 * the ends.
 */
function targetOf(key: string, index: number, count: number): number | undefined {
  switch (key) {
    case "ArrowRight":
      return (index + 1) % count;
    case "ArrowLeft":
      return (index + count - 1) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
