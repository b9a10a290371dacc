import type { ShownKey } from "@bikeshare/contract/console";
import { partnerErrorCodes } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { InstantField } from "../../components/instant-field.tsx";
import { keyName } from "../keys/key-dialogs.tsx";
import { isRequestId, type RequestFilters } from "./filters.ts";

interface FiltersProps {
  readonly filters: RequestFilters;
  readonly keys: readonly ShownKey[];
  readonly onChange: (change: RequestFilters) => void;
}

const statuses = [
  { value: "", label: "All" },
  { value: "2xx", label: "Succeeded (2xx)" },
  { value: "errors", label: "All errors" },
  { value: "4xx", label: "Client errors (4xx)" },
  { value: "429", label: "Refused by the limit (429)" },
  { value: "5xx", label: "Server errors (5xx)" },
];
const methods = ["GET", "POST", "PATCH", "DELETE"];
const errors = partnerErrorCodes.map((code) => ({ value: code, label: code }));
const ALL = { value: "", label: "All" };

/** The filters of the log. */
export function Filters({ filters, keys, onChange }: FiltersProps) {
  return (
    <div class="filters" role="search" aria-label="Requests">
      <SelectField
        label="Key"
        value={filters.key_id ?? ""}
        choices={[
          ALL,
          ...withPresent(
            keys.map((key) => ({ value: key.id, label: keyChoice(key) })),
            filters.key_id,
          ),
        ]}
        onChange={(key_id) => onChange({ key_id })}
      />
      <SelectField
        label="Status"
        value={filters.status ?? ""}
        choices={withPresent(statuses, filters.status)}
        onChange={(status) => onChange({ status })}
      />
      <SelectField
        label="Error code"
        value={filters.error ?? ""}
        choices={[ALL, ...withPresent(errors, filters.error)]}
        onChange={(error) => onChange({ error })}
      />
      <SelectField
        label="Method"
        value={filters.method ?? ""}
        choices={[
          ALL,
          ...withPresent(
            methods.map((value) => ({ value, label: value })),
            filters.method,
          ),
        ]}
        onChange={(method) => onChange({ method })}
      />
      <RouteField key={filters.route} value={filters.route ?? ""} onChange={(route) => onChange({ route })} />
      <InstantField label="From" value={filters.since} onInput={(since) => onChange({ since })} />
      <InstantField label="Until" value={filters.until} onInput={(until) => onChange({ until })} />
    </div>
  );
}

function keyChoice(key: ShownKey): string {
  const ended = key.status === "active" ? "" : ` (${key.status})`;
  return `${keyName(key)}${key.name === null ? "" : ` …${key.last4}`}${ended}`;
}

/** Returns the choices, including the address's value if it is none of them. */
function withPresent<One extends { readonly value: string; readonly label: string }>(
  choices: readonly One[],
  present: string | undefined,
) {
  if (present === undefined || choices.some(({ value }) => value === present)) return choices;
  return [...choices, { value: present, label: present }];
}

/** Sent by Enter or when it is left: half a route matches nothing. */
function RouteField({ value, onChange }: { readonly value: string; readonly onChange: (route: string) => void }) {
  const [typed, setTyped] = useState(value);
  const send = () => typed.trim() !== value && onChange(typed.trim());
  return (
    <div onFocusOut={send}>
      <Form onSubmit={send}>
        <TextField label="Route" value={typed} onInput={setTyped} placeholder="/v1/rides/:id" monospace type="search" />
      </Form>
    </div>
  );
}

/** Finds one request by its id. */
export function RequestSearch({ onFind }: { readonly onFind: (id: string) => void }) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string>();
  const find = () => {
    const id = typed.trim();
    setError(isRequestId(id) ? undefined : "A Request-Id begins with req_. Every response has it in a header.");
    if (isRequestId(id)) onFind(id);
  };
  return (
    <Form onSubmit={find}>
      <div class="request-search">
        <TextField
          label="Request-Id"
          value={typed}
          onInput={setTyped}
          placeholder="req_…"
          monospace
          type="search"
          error={error}
        />
        <Button type="submit">Find</Button>
      </div>
    </Form>
  );
}
