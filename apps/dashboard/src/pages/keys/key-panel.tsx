import type { ShownKey } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { Button } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { keyName } from "../key-name.ts";
import { addressIn, type PageScope } from "../scope.ts";
import { KeyStatus } from "./key-table.tsx";
import { KeyUsage } from "./key-usage.tsx";

interface KeyPanelProps {
  /** The key. Its name is not `key`, because components cannot read a property of that name. */
  readonly shown: ShownKey;
  readonly scope: PageScope;
  readonly onAsk: (what: "rotate" | "revoke") => void;
  readonly onClose: () => void;
}

/** One key: its facts, its usage, and the actions on it. */
export function KeyPanel({ shown, scope, onAsk, onClose }: KeyPanelProps) {
  const canChange = scope.canChange && shown.status === "active";
  return (
    <section class="card stack" aria-labelledby="key-panel">
      <header class="key-panel-head">
        <h2 id="key-panel">
          {keyName(shown)} <KeyStatus shown={shown} />
        </h2>
        <div class="row">
          {canChange && shown.rotated_to === null && <Button onClick={() => onAsk("rotate")}>Rotate</Button>}
          {canChange && (
            <Button variant="danger" onClick={() => onAsk("revoke")}>
              Revoke
            </Button>
          )}
          <Button variant="quiet" onClick={onClose}>
            Close
          </Button>
        </div>
      </header>
      {shown.compromised_at !== null && shown.status === "active" && (
        <Notice tone="danger" title="This key may be compromised">
          It was sent over plain HTTP or in an address, <Time at={shown.compromised_at} />. Rotate it, deploy the new
          key, and revoke this one.
        </Notice>
      )}
      {shown.exceeds_allowance && (
        <Notice tone="warning" title="Exceeds the allowance">
          The partner’s people made this key before the operator lowered what they may make. It works until it expires
          or is revoked.
        </Notice>
      )}
      <KeyFacts shown={shown} scope={scope} />
      <KeyUsage shown={shown} scope={scope} />
      <p>
        <Link href={addressIn(scope, "requests", { key_id: shown.id })}>All requests with this key</Link>
      </p>
    </section>
  );
}

/** The facts of a key. Only the operator's keys have no scopes. */
function KeyFacts({ shown, scope }: Pick<KeyPanelProps, "shown" | "scope">) {
  return (
    <dl class="fact-rows">
      <dt>Id</dt>
      <dd class="mono">
        {shown.id} <CopyButton text={shown.id} label="Copy the key's id" />
      </dd>
      <dt>Scopes</dt>
      <dd class="row">
        {shown.scopes.length === 0
          ? "everything under /operator"
          : shown.scopes.map((scopeName) => (
              <code key={scopeName} class="scope mono">
                {scopeName}
              </code>
            ))}
      </dd>
      <dt>Limit</dt>
      <dd>
        {shown.rate_limit.toLocaleString("en")} requests in any 60 s{shown.has_own_rate_limit ? "" : ", the default"}
      </dd>
      <dt>Last used</dt>
      <dd>
        <Time at={shown.last_used_at} show="both" />
        {shown.last_used_route !== null && (
          <span class="muted">
            {" "}
            <span class="mono">{shown.last_used_route}</span> from <span class="mono">{shown.last_used_address}</span>
          </span>
        )}
      </dd>
      <Times shown={shown} scope={scope} />
    </dl>
  );
}

function Times({ shown, scope }: Pick<KeyPanelProps, "shown" | "scope">) {
  return (
    <>
      <dt>Created</dt>
      <dd>
        <Time at={shown.created_at} show="both" />
        {shown.partner_id !== null && (shown.made_by_partner ? " by the partner’s people" : " by the operator")}
      </dd>
      {shown.expires_at !== null && (
        <>
          <dt>Expires</dt>
          <dd>
            <Time at={shown.expires_at} show="both" />
          </dd>
        </>
      )}
      {shown.ends_at !== null && (
        <>
          <dt>{shown.status === "revoked" ? "Revoked" : "Ends"}</dt>
          <dd>
            <Time at={shown.ends_at} show="both" />
            {shown.rotated_to !== null && (
              <>
                {" "}
                <Link href={addressIn(scope, "keys", { key: shown.rotated_to })}>Its replacement</Link>
              </>
            )}
          </dd>
        </>
      )}
    </>
  );
}
