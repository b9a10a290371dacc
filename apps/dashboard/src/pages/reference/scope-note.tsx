import { useQuery } from "@tanstack/preact-query";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { Notice } from "../../components/notice.tsx";
import { addressIn, type Scope } from "../scope.ts";

/** The scopes of each of a partner's keys that work. */
export type KeyScopes = readonly (readonly string[])[];

/** Undefined until they are known, and on pages of the operator. */
export function useKeyScopes({ systemId, partnerId = "" }: Scope): KeyScopes | undefined {
  const { data } = useQuery({
    queryKey: ["keys", systemId, partnerId],
    queryFn: ({ signal }) => api.partnerKeys.list({ params: { system_id: systemId, partner_id: partnerId }, signal }),
    enabled: partnerId !== "",
  });
  return data?.data.filter(({ status }) => status === "active").map(({ scopes }) => scopes);
}

interface ScopeNoteProps {
  readonly scope: Scope;
  /** What the endpoint asks for. */
  readonly needed: string;
  readonly keyScopes: KeyScopes;
}

/** Whether the partner's keys may call an endpoint. */
export function ScopeNote({ scope, needed, keyScopes }: ScopeNoteProps) {
  const count = keyScopes.filter((scopes) => scopes.includes(needed)).length;
  const keys = <Link href={addressIn(scope, "keys")}>Your keys</Link>;
  if (count === 0) {
    return (
      <Notice tone="warning" title="None of your keys may call this">
        It needs the scope <code>{needed}</code>. Create a key that has it, or ask the operator. {keys}
      </Notice>
    );
  }
  return (
    <Notice tone="success">
      {count} of your {keyScopes.length} active keys {count === 1 ? "has" : "have"} the scope <code>{needed}</code>.{" "}
      {keys}
    </Notice>
  );
}
