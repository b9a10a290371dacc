import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Filter, Filters } from "../../components/filters.tsx";
import { areSame, filterNames, type FilterTexts, quickFilters } from "./filters.ts";
import { eventChoices, failureChoices, statusChoices } from "./words.ts";

const filters: readonly Filter[] = [
  { name: "status", label: "Status", choices: statusChoices },
  { name: "event", label: "Event", choices: eventChoices },
  { name: "failure", label: "Latest failure", choices: failureChoices },
  { name: "code", label: "HTTP code", hint: "503, or 5xx" },
  { name: "resource_id", label: "Resource", hint: "The id of a ride, station, bike or reservation" },
  { name: "since", label: "Created from", isInstant: true },
  { name: "until", label: "Created before", isInstant: true },
];

interface FilterBarProps {
  readonly filters: FilterTexts;
  readonly onChange: (filters: FilterTexts) => void;
  readonly count: ComponentChildren;
}

/** The filters of the list, with buttons for frequently used ones. */
export function FilterBar({ filters: given, onChange, count }: FilterBarProps) {
  const [now] = useState(() => new Date());
  return (
    <Filters
      label="Filters"
      filters={filters}
      values={given}
      onChange={({ code, ...changes }) =>
        onChange(
          Object.fromEntries(
            filterNames.map((name) => [
              name,
              (name === "code" ? code?.toLowerCase() : changes[name]) ?? given[name] ?? "",
            ]),
          ),
        )
      }
      count={count}
    >
      <div class="segments" role="group" aria-label="Quick filters">
        {quickFilters(now).map((quick) => (
          <button
            key={quick.label}
            type="button"
            class="segment"
            aria-pressed={areSame(quick.filters, given)}
            onClick={() => onChange(quick.filters)}
          >
            {quick.label}
          </button>
        ))}
      </div>
    </Filters>
  );
}
