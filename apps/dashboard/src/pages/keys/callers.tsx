import type { ShownKey } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Link, useSearchParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { keyName, ownerName } from "../key-name.ts";
import { addressIn, type PageScope, withParameter } from "../scope.ts";

interface CallersProps {
  /** The operator's page, for the addresses of its links. */
  readonly scope: PageScope;
  readonly keys: readonly ShownKey[];
}

/** How many days back callers are searched for. */
const DAYS = 90;

/** A key that has called the route. */
type Caller = Awaited<ReturnType<typeof api.systemRequests.callers>>["data"][number];

/** Lists the callers of a route, whom the operator must tell before the route is removed. */
export function Callers({ scope, keys }: CallersProps) {
  const [search, setSearch] = useSearchParams();
  const route = search.get("route") ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["callers", scope.systemId, route],
    queryFn: ({ signal }) =>
      api.systemRequests.callers({ params: { system_id: scope.systemId }, query: { route, days: DAYS }, signal }),
    enabled: route !== "",
  });
  const byId = new Map(keys.map((key) => [key.id, key]));
  const find = (typed: string) => setSearch((before) => withParameter(before, "route", typed));
  return (
    <section class="stack" aria-labelledby="callers">
      <div>
        <h2 id="callers">Callers of a route</h2>
        <p class="muted">
          Who needs to know before a part is retired: the keys that have called it in the last {DAYS} days.
        </p>
      </div>
      <RouteForm key={route} route={route} onFind={find} />
      {route !== "" && (
        <Table
          caption={`Callers of ${route}`}
          columns={callerColumns(scope, route, byId)}
          rows={data?.data}
          error={error}
          onRetry={() => void refetch()}
          rowKey={({ key_id }) => key_id}
          empty={
            <EmptyState title="Nobody">
              No key has called <span class="mono">{route}</span> in the last {DAYS} days. A route is written with its
              method and its parameters by name, as the requests show it.
            </EmptyState>
          }
        />
      )}
    </section>
  );
}

interface RouteFormProps {
  readonly route: string;
  readonly onFind: (route: string) => void;
}

function RouteForm({ route, onFind }: RouteFormProps) {
  const [typed, setTyped] = useState(route);
  return (
    <Form onSubmit={() => onFind(typed.trim())}>
      <div class="request-search">
        <TextField
          label="Method and route"
          value={typed}
          onInput={setTyped}
          placeholder="GET /v1/rides/:id"
          monospace
          type="search"
        />
        <Button type="submit">Find callers</Button>
      </div>
    </Form>
  );
}

function callerColumns(
  scope: PageScope,
  called: string,
  keys: ReadonlyMap<string, ShownKey>,
): readonly Column<Caller>[] {
  const [method = "", route = ""] = called.split(" ");
  return [
    { id: "partner", title: "Partner", cell: ({ key_id, partner_id }) => ownerName(partner_id, keys.get(key_id)) },
    {
      id: "key",
      title: "Key",
      cell: ({ key_id }) => {
        const key = keys.get(key_id);
        return (
          <Link href={addressIn(scope, "requests", { key_id, method, route })}>
            {key === undefined ? key_id : keyName(key)}
          </Link>
        );
      },
    },
    { id: "last", title: "Last called (UTC)", cell: ({ last_day }) => last_day },
    { id: "requests", title: "Requests", align: "end", cell: ({ requests }) => requests.toLocaleString("en") },
  ];
}
