import type { ShownAllowance, ShownKey } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Checkbox } from "../../components/field.tsx";
import { isEmbedded } from "../../embedding.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useShownOnce } from "../../session/shown-once.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { type PageScope, useOperatorScope, usePartnerScope, withParameter } from "../scope.ts";
import { Callers } from "./callers.tsx";
import { CreateDialog } from "./create-dialog.tsx";
import { DeprecatedCalls } from "./deprecated-calls.tsx";
import { IssueDialog } from "./issue-dialog.tsx";
import { type MadeKey, MadeKeyDialog, RevokeDialog, RotateDialog } from "./key-dialogs.tsx";
import { KeyPanel } from "./key-panel.tsx";
import { KeyTable } from "./key-table.tsx";
import "../facts.css";
import "./keys.css";

/*
 * The pages of API keys. The operator issues keys for any partner. A partner's admins may create keys only if the operator
 * has given the partner a key allowance. A `PageScope` says whose page is shown. It is no scope of a key.
 */

/** The page of a partner's keys. */
export function PartnerKeysPage() {
  const scope = usePartnerScope();
  return scope === undefined ? <NotFoundPage /> : <Keys scope={scope} />;
}

/** The operator's page of all keys of a system. */
export function OperatorKeysPage() {
  const scope = useOperatorScope();
  return scope === undefined ? <NotFoundPage /> : <Keys scope={scope} />;
}

/** The open dialog, and the key that it is about, if any. */
type Asked = { readonly what: "rotate" | "revoke"; readonly key: ShownKey } | { readonly what: "issue" | "create" };

function Keys({ scope }: { readonly scope: PageScope }) {
  const { data, error, refetch } = useKeys(scope);
  const [search, setSearch] = useSearchParams();
  const [asked, setAsked] = useState<Asked>();
  // The new key is secret: it is forgotten when its dialog is closed or the session ends.
  const [made, setMade] = useShownOnce<MadeKey>();
  const showsEnded = search.get("ended") === "true";
  // The key whose panel is open. The address names it.
  const selected = data?.data.find(({ id }) => id === search.get("key"));
  const set = (name: string, value: string | undefined) => setSearch((before) => withParameter(before, name, value));
  const close = () => setAsked(undefined);
  const show = (key: MadeKey) => {
    setAsked(undefined);
    setMade(key);
  };
  const isOperators = scope.partnerId === undefined;
  const allowance = data?.allowance ?? undefined;
  return (
    <>
      <KeysHeader scope={scope} allowance={data?.allowance} onAsk={(what) => setAsked({ what })} />
      <DeprecatedCalls scope={scope} keys={data?.data ?? []} />
      <Checkbox
        label="Show keys that have ended"
        checked={showsEnded}
        onChange={(isChosen) => set("ended", isChosen ? "true" : undefined)}
      />
      <KeyTable
        keys={data?.data.filter((key) => showsEnded || key === selected || hasNotEnded(key))}
        error={error}
        onRetry={() => void refetch()}
        selected={selected}
        onSelect={(id) => set("key", id)}
        isOperators={isOperators}
        mayCreate={allowance !== undefined}
      />
      {selected !== undefined && (
        <KeyPanel
          key={selected.id}
          shown={selected}
          scope={scope}
          onAsk={(what) => setAsked({ what, key: selected })}
          onClose={() => set("key", undefined)}
        />
      )}
      {isOperators && <Callers scope={scope} keys={data?.data ?? []} />}
      {asked !== undefined && (
        <AskedDialog asked={asked} scope={scope} allowance={allowance} onClose={close} onMade={show} />
      )}
      {made !== undefined && <MadeKeyDialog made={made} onClose={() => setMade(undefined)} />}
    </>
  );
}

function hasNotEnded({ status }: ShownKey): boolean {
  return status === "active" || status === "suspended";
}

interface KeysHeaderProps {
  readonly scope: PageScope;
  /**
   * The partner's key allowance. Null: the operator allows none. Undefined: not loaded yet, or this is the operator's page.
   */
  readonly allowance: ShownAllowance | null | undefined;
  readonly onAsk: (what: "issue" | "create") => void;
}

function KeysHeader({ scope, allowance, onAsk }: KeysHeaderProps) {
  if (scope.partnerId !== undefined) {
    // In a frame of the operator's portal, the service refuses to create keys.
    const create = scope.canChange && !isEmbedded && allowance && (
      <Button variant="primary" disabled={!isLeft(allowance)} onClick={() => onAsk("create")}>
        Create key
      </Button>
    );
    return (
      <PageHeader title="Keys" actions={create}>
        API keys of your programs. {allowance && <Left allowance={allowance} />}
        {allowance === null && "The operator creates them: ask it for another key, or to let your admins create some."}
      </PageHeader>
    );
  }
  const issue = scope.canChange && (
    <Button variant="primary" onClick={() => onAsk("issue")}>
      Issue a key
    </Button>
  );
  return (
    <PageHeader title="Keys" actions={issue}>
      Keys of all partners and of the operator.
    </PageHeader>
  );
}

/** Tells whether the allowance suffices for another key. */
function isLeft({ keys_left: keys, rate_limit_left: rate }: ShownAllowance): boolean {
  return keys > 0 && rate > 0;
}

/** Shows how much of the key allowance is left. */
function Left({ allowance }: { readonly allowance: ShownAllowance }) {
  const { keys, keys_left: keysLeft, rate_limit: rate, rate_limit_left: rateLeft } = allowance;
  return (
    <>
      Admins may create {keysLeft} more of {keys}, with {rateLeft.toLocaleString("en")} of {rate.toLocaleString("en")}{" "}
      requests per minute.{isLeft(allowance) ? "" : " Revoke one of these to create another."}
    </>
  );
}

interface AskedDialogProps {
  readonly asked: Asked;
  readonly scope: PageScope;
  readonly allowance: ShownAllowance | undefined;
  readonly onClose: () => void;
  readonly onMade: (made: MadeKey) => void;
}

function AskedDialog({ asked, scope, allowance, onClose, onMade }: AskedDialogProps) {
  const { systemId, partnerId } = scope;
  switch (asked.what) {
    case "create":
      if (partnerId === undefined || allowance === undefined) return null;
      return <CreateDialog {...{ systemId, partnerId, allowance, onClose, onMade }} />;
    case "issue":
      return <IssueDialog systemId={systemId} onClose={onClose} onMade={onMade} />;
    case "rotate":
      return <RotateDialog shown={asked.key} scope={scope} onClose={onClose} onMade={onMade} />;
    case "revoke":
      return <RevokeDialog shown={asked.key} scope={scope} onClose={onClose} />;
  }
}

function useKeys(scope: PageScope) {
  return useQuery({
    queryKey: ["keys", scope.systemId, scope.partnerId],
    queryFn: ({ signal }) => readKeys(scope, signal),
  });
}

interface ReadKeys {
  readonly data: readonly ShownKey[];
  /** Only on a partner's page. Null: the partner has none. */
  readonly allowance?: ShownAllowance | null;
}

function readKeys({ systemId, partnerId }: PageScope, signal: AbortSignal): Promise<ReadKeys> {
  return partnerId === undefined
    ? api.systemKeys.list({ params: { system_id: systemId }, signal })
    : api.partnerKeys.list({ params: { system_id: systemId, partner_id: partnerId }, signal });
}
