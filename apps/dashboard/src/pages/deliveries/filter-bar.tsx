import type { ComponentChildren } from "preact";
import { type Filter, Filters } from "../../components/filters.tsx";
import { areSame, type FilterTexts, quickFilters } from "./filters.ts";
import { eventChoices, failureChoices, statusChoices } from "./words.ts";

const offered: readonly Filter[] = [
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

/** Returns the filters after changes of some of them. An empty text removes a filter. The service knows `5xx`, not `5XX`. */
function changed(filters: FilterTexts, { code, ...others }: FilterTexts): FilterTexts {
  return { ...filters, ...others, ...(code !== undefined && { code: code.toLowerCase() }) };
}

/** The filters of the list, with buttons for frequently used ones. */
export function FilterBar({ filters, onChange, count }: FilterBarProps) {
  return (
    <Filters
      label="Filters"
      filters={offered}
      values={filters}
      onChange={(changes) => onChange(changed(filters, changes))}
      count={count}
    >
      <div class="segments" role="group" aria-label="Quick filters">
        {quickFilters(new Date()).map((quick) => (
          <button
            key={quick.label}
            type="button"
            class="segment"
            aria-pressed={areSame(quick.filters, filters)}
            onClick={() => onChange(quick.filters)}
          >
            {quick.label}
          </button>
        ))}
      </div>
    </Filters>
  );
}
