import type { ShownKey } from "@bikeshare/contract/console";
import { partnerErrorCodes } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/field.tsx";
import { Filters } from "../../components/filters.tsx";
import { keyName } from "../key-name.ts";
import { isRequestId, type RequestFilters } from "./filters.ts";

interface FiltersProps {
  readonly filters: RequestFilters;
  readonly keys: readonly ShownKey[];
  readonly onChange: (change: RequestFilters) => void;
  readonly count: string;
  readonly onFind: (id: string) => void;
}

const statuses = [
  { value: "2xx", label: "Succeeded (2xx)" },
  { value: "errors", label: "All errors" },
  { value: "4xx", label: "Client errors (4xx)" },
  { value: "429", label: "Refused by the limit (429)" },
  { value: "5xx", label: "Server errors (5xx)" },
];
const methods = ["GET", "POST", "PATCH", "DELETE"].map((value) => ({ value, label: value }));
const errors = partnerErrorCodes.map((code) => ({ value: code, label: code }));

/** The filters of the request log. */
export function RequestFilterBar({ filters, keys, onChange, count, onFind }: FiltersProps) {
  return (
    <Filters
      label="Requests"
      filters={[
        { name: "status", label: "Status", choices: statuses },
        { name: "key_id", label: "Key", choices: keys.map((key) => ({ value: key.id, label: keyChoice(key) })) },
        { name: "error", label: "Error code", choices: errors },
        { name: "method", label: "Method", choices: methods },
        { name: "route", label: "Route", placeholder: "/v1/rides/:id" },
        { name: "since", label: "From", isInstant: true },
        { name: "until", label: "Until", isInstant: true },
      ]}
      values={filters}
      onChange={onChange}
      count={count}
    >
      <RequestSearch onFind={onFind} />
    </Filters>
  );
}

/** Returns a key's name, and its last characters unless the name has them: a key without a name is named by them. */
function keyChoice(key: ShownKey): string {
  const ended = key.status === "active" ? "" : ` (${key.status})`;
  return `${keyName(key)}${key.name === null ? "" : ` …${key.last4}`}${ended}`;
}

/** Finds one request by its id. */
function RequestSearch({ onFind }: { readonly onFind: (id: string) => void }) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string>();
  const find = () => {
    const id = typed.trim();
    setError(isRequestId(id) ? undefined : "A Request-Id begins with req_. Every response has it in a header.");
    if (isRequestId(id)) onFind(id);
  };
  return (
    <form
      class="request-search"
      onSubmit={(event) => {
        event.preventDefault();
        find();
      }}
    >
      <TextField
        label="Request-Id"
        value={typed}
        onInput={setTyped}
        placeholder="Request-Id: req_…"
        type="search"
        error={error}
      />
      <Button type="submit">Find</Button>
    </form>
  );
}
