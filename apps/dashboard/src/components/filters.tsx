import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { type Choice, SelectField, TextField } from "./field.tsx";
import { Icon } from "./icon.tsx";
import { InstantField } from "./instant-field.tsx";
import { placeAtButton } from "./menu.tsx";
import { timedText } from "./time.tsx";
import "./icon-button.css";
import "./filters.css";

/** A filter of a list. Its value is a string, as in the query of the page's address. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  /** The values to choose from. Undefined: the reader types a text. */
  readonly choices?: readonly Choice[];
  /** Whether the value is a date and time. */
  readonly isInstant?: boolean;
  readonly placeholder?: string;
  readonly hint?: string;
}

/** The values by the names of the filters. Undefined or empty: the filter is not set. */
type Values = Readonly<Record<string, string | undefined>>;

interface FiltersProps {
  /** What the list contains, for screen readers: "Rides". */
  readonly label: string;
  readonly filters: readonly Filter[];
  readonly values: Values;
  /** Called with the filters that change. An empty value removes a filter. */
  readonly onChange: (changes: Readonly<Record<string, string>>) => void;
  /** The number of matches: "12 of 340". */
  readonly count?: ComponentChildren;
  /** Controls before the filters, such as a box to search in. */
  readonly children?: ComponentChildren;
}

/**
 * The filters of a list as chips. Rows must match all of them. Each chip can be changed or removed, and a button adds one.
 */
export function Filters({ label, filters, values, onChange, count, children }: FiltersProps) {
  const given = filters.filter(({ name }) => (values[name] ?? "") !== "");
  const others = filters.filter((filter) => !given.includes(filter));
  return (
    <search class="filters" aria-label={label}>
      {children}
      {given.map((filter) => (
        <Chip key={filter.name} filter={filter} values={values} onChange={onChange} />
      ))}
      {others.length > 0 && (
        // The key `/` finds the button by this class (shortcuts.tsx).
        <span class="chip chip-add">
          <Editor
            filters={others}
            values={values}
            onChange={onChange}
            button={
              <>
                <Icon name="filter" /> Filter
              </>
            }
          />
        </span>
      )}
      {given.length > 1 && (
        <button
          type="button"
          class="button button-quiet"
          onClick={() => onChange(Object.fromEntries(given.map(({ name }) => [name, ""])))}
        >
          Clear all
        </button>
      )}
      {count !== undefined && (
        <span class="filters-count muted" role="status">
          {count}
        </span>
      )}
    </search>
  );
}

interface ChipProps extends Pick<FiltersProps, "values" | "onChange"> {
  readonly filter: Filter;
}

/** A filter that is set. A press on it changes the value. */
function Chip({ filter, values, onChange }: ChipProps) {
  const { name, label } = filter;
  return (
    <span class="chip">
      <Editor
        filters={[filter]}
        values={values}
        onChange={onChange}
        button={
          <>
            {label}: <strong>{valueText(filter, values[name] ?? "")}</strong>
          </>
        }
      />
      <button
        type="button"
        class="icon-button"
        aria-label={`Remove the filter ${label}`}
        onClick={() => onChange({ [name]: "" })}
      >
        <Icon name="close" />
      </button>
    </span>
  );
}

function valueText({ choices, isInstant }: Filter, value: string): string {
  if (isInstant === true) return timedText(value);
  return choices?.find((choice) => choice.value === value)?.label ?? value;
}

interface EditorProps extends Pick<FiltersProps, "filters" | "values" | "onChange"> {
  readonly button: ComponentChildren;
}

/** A button that opens a box in which the reader chooses a filter, if there are several, and its value. */
function Editor({ filters, values, onChange, button }: EditorProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<string>();
  const only = filters.length === 1 ? filters[0] : undefined;
  const filter = only ?? filters.find(({ name }) => name === chosen);
  /** Moves the box to its button, and the focus to the first control in the box. */
  const place = () => {
    if (opener.current === null || box.current === null) return;
    placeAtButton(box.current, opener.current);
    box.current.querySelector<HTMLElement>("input, select, button")?.focus();
  };
  const choose = (name: string) => {
    setChosen(name);
    // After the next render, when the box contains the input of the value and has its size.
    requestAnimationFrame(place);
  };
  const set = (value: string) => {
    box.current?.hidePopover();
    if (filter !== undefined) onChange({ [filter.name]: value });
  };
  const toggle = (opens: boolean) => {
    setOpen(opens);
    setChosen(undefined);
    // After the box is rendered: Preact renders in a microtask that the changes of state have queued before this one.
    if (opens) queueMicrotask(place);
  };
  return (
    <>
      <button ref={opener} type="button" class="chip-button" popovertarget={id} aria-expanded={isOpen}>
        {button}
      </button>
      <div ref={box} id={id} popover="auto" class="menu" onToggle={(event) => toggle(event.newState === "open")}>
        {isOpen && filter === undefined && <Names filters={filters} onChoose={choose} />}
        {isOpen && filter !== undefined && <Value filter={filter} value={values[filter.name] ?? ""} onChange={set} />}
      </div>
    </>
  );
}

/** The filters to choose from. */
function Names({
  filters,
  onChoose,
}: {
  readonly filters: readonly Filter[];
  readonly onChoose: (name: string) => void;
}) {
  return (
    <>
      {filters.map(({ name, label }) => (
        <button key={name} type="button" class="menu-item" onClick={() => onChoose(name)}>
          {label}
        </button>
      ))}
    </>
  );
}

interface ValueProps {
  readonly filter: Filter;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Up to this many choices are listed as buttons. More are shown in a `<select>`. */
const MAX_LISTED = 10;

/** Chooses or types the value of a filter. */
function Value({ filter, value, onChange }: ValueProps) {
  const [typed, setTyped] = useState(value);
  const { choices } = filter;
  if (choices !== undefined && choices.length <= MAX_LISTED) {
    return (
      <>
        {choices.map((choice) => (
          <button
            key={choice.value}
            type="button"
            class="menu-item"
            aria-pressed={choice.value === value}
            onClick={() => onChange(choice.value)}
          >
            {choice.label}
          </button>
        ))}
      </>
    );
  }
  return (
    <form
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(typed.trim());
      }}
    >
      <ValueField filter={filter} value={typed} onChange={setTyped} />
      <button type="submit" class="button button-primary">
        Apply
      </button>
    </form>
  );
}

function ValueField({ filter: { label, choices, isInstant, placeholder, hint }, value, onChange }: ValueProps) {
  if (choices !== undefined) {
    const all = [{ value: "", label: "All" }, ...choices];
    return <SelectField label={label} value={value} choices={all} onChange={onChange} />;
  }
  if (isInstant === true) return <InstantField label={label} value={value} onInput={onChange} />;
  return (
    <TextField
      label={label}
      type="search"
      value={value}
      onInput={onChange}
      hint={hint}
      {...(placeholder !== undefined && { placeholder })}
    />
  );
}
