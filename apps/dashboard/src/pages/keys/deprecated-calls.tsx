import type { ShownKey } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Notice } from "../../components/notice.tsx";
import { keyName, ownerName } from "../key-name.ts";
import { addressIn, type PageScope } from "../scope.ts";

interface DeprecatedCallsProps {
  readonly scope: PageScope;
  readonly keys: readonly ShownKey[];
}

type DeprecatedCall = Awaited<ReturnType<typeof api.partnerRequests.deprecated>>["data"][number];

/**
 * Lists the keys that still call deprecated endpoints, with the date from which each endpoint may be removed. Renders
 * nothing if there are none.
 */
export function DeprecatedCalls({ scope, keys }: DeprecatedCallsProps) {
  const { data } = useQuery({
    queryKey: ["deprecated-calls", scope.systemId, scope.partnerId],
    queryFn: ({ signal }) => readCalls(scope, signal),
  });
  if (data === undefined || data.data.length === 0) return null;
  const byId = new Map(keys.map((key) => [key.id, key]));
  return (
    <Notice tone="warning" title="Some keys call routes that will be removed">
      <ul>
        {data.data.map((call) => (
          <li key={`${call.route} ${call.key_id}`}>
            <CallingKey call={call} scope={scope} shown={byId.get(call.key_id)} /> called{" "}
            <span class="mono">{call.route}</span> {call.requests.toLocaleString("en")} times in the last 30 days, last
            on {call.last_day}. It may be gone from {call.sunset} on.
            {call.successor !== null && (
              <>
                {" "}
                Use <span class="mono">{call.successor}</span> instead.
              </>
            )}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

interface CallingKeyProps {
  readonly call: DeprecatedCall;
  readonly scope: PageScope;
  readonly shown: ShownKey | undefined;
}

function CallingKey({ call, scope, shown }: CallingKeyProps) {
  const [method = "", route = ""] = call.route.split(" ");
  return (
    <Link href={addressIn(scope, "requests", { key_id: call.key_id, method, route })}>
      {scope.partnerId === undefined && `${ownerName(call.partner_id, shown)}: `}
      {shown === undefined ? call.key_id : keyName(shown)}
    </Link>
  );
}

function readCalls({ systemId, partnerId }: PageScope, signal: AbortSignal) {
  return partnerId === undefined
    ? api.systemRequests.deprecated({ params: { system_id: systemId }, signal })
    : api.partnerRequests.deprecated({ params: { system_id: systemId, partner_id: partnerId }, signal });
}
