import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { InstantField } from "../../components/instant-field.tsx";
import { areSame, type FilterTexts, quickFilters } from "./filters.ts";
import { eventChoices, failureChoices, statusChoices } from "./words.ts";

interface FilterBarProps {
  readonly filters: FilterTexts;
  readonly onChange: (filters: FilterTexts) => void;
}

/** The filters of the list: buttons for the most frequent questions, and a form with all filters. */
export function FilterBar({ filters, onChange }: FilterBarProps) {
  const [now] = useState(() => new Date());
  return (
    <div class="stack">
      <div class="row" role="group" aria-label="Quick filters">
        {quickFilters(now).map((quick) => (
          <button
            key={quick.label}
            type="button"
            class="button button-secondary quick-filter"
            aria-pressed={areSame(quick.filters, filters)}
            onClick={() => onChange(quick.filters)}
          >
            {quick.label}
          </button>
        ))}
      </div>
      <details class="card delivery-filters" open={Object.keys(filters).length > 0}>
        <summary>Filters</summary>
        <div class="filter-fields">
          <Choices filters={filters} onChange={onChange} />
          <Texts filters={filters} onChange={onChange} />
          <Button variant="quiet" disabled={Object.keys(filters).length === 0} onClick={() => onChange({})}>
            Clear filters
          </Button>
        </div>
      </details>
    </div>
  );
}

function Choices({ filters, onChange }: FilterBarProps) {
  const fields = [
    { name: "status", label: "Status", choices: statusChoices },
    { name: "event", label: "Event", choices: eventChoices },
    { name: "failure", label: "Latest failure", choices: failureChoices },
  ] as const;
  return (
    <>
      {fields.map(({ name, label, choices }) => (
        <SelectField
          key={name}
          label={label}
          value={filters[name] ?? ""}
          choices={choices}
          onChange={(value) => onChange({ ...filters, [name]: value })}
        />
      ))}
    </>
  );
}

function Texts({ filters, onChange }: FilterBarProps) {
  const set = (change: FilterTexts) => onChange({ ...filters, ...change });
  return (
    <>
      <CommittedField
        label="HTTP code"
        hint="503, or 5xx"
        value={filters.code ?? ""}
        onCommit={(code) => set({ code: code.toLowerCase() })}
      />
      <CommittedField
        label="Resource id"
        hint="Of a ride, station, bike or reservation"
        value={filters.resource_id ?? ""}
        onCommit={(resource_id) => set({ resource_id })}
      />
      <InstantField label="Created from" value={filters.since} onInput={(since) => set({ since })} />
      <InstantField label="Created before" value={filters.until} onInput={(until) => set({ until })} />
    </>
  );
}

interface CommittedFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onCommit: (value: string) => void;
}

/** A field that commits its text when it is finished: otherwise each letter would start a search. */
function CommittedField({ label, hint, value, onCommit }: CommittedFieldProps) {
  const [typed, setTyped] = useState<string>();
  const commit = () => {
    if (typed !== undefined && typed.trim() !== value) onCommit(typed.trim());
    setTyped(undefined);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        commit();
      }}
      onFocusOut={commit}
    >
      <TextField label={label} hint={hint} value={typed ?? value} onInput={setTyped} monospace />
    </form>
  );
}
