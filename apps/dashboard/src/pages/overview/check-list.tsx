import type { ShownCheck } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import { Button, ButtonLink } from "../../components/button.tsx";
import { Sentence } from "../../components/code.tsx";
import { StatusMark, type Tone } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { PageScope } from "../scope.ts";
import { AcknowledgeDialog, type Acknowledgeable, isAcknowledgeable, useUnacknowledge } from "./acknowledge-dialog.tsx";
import { checkAddress, checkLinks } from "./check-address.ts";

interface CheckListProps {
  readonly checks: readonly ShownCheck[];
  readonly scope: PageScope;
}

/** The list of failing checks, with what to do about each. The worst are first, the acknowledged ones last. */
export function CheckList({ checks, scope }: CheckListProps) {
  const [toAcknowledge, setToAcknowledge] = useChecksToAcknowledge(checks, scope);
  const needsAttention = checks.some(({ severity, acknowledged }) => severity !== "info" && acknowledged === null);
  return (
    <section class="card checks" aria-labelledby="checks">
      <h2 id="checks">{needsAttention ? "Needs attention" : "Health"}</h2>
      {checks.length === 0 ? (
        <p class="checks-none">
          <StatusMark tone="success" /> All checks pass.
        </p>
      ) : (
        <ul>
          {checks.map((check, index) => (
            <CheckItem key={`${check.name} ${index}`} check={check} scope={scope} onAcknowledge={setToAcknowledge} />
          ))}
        </ul>
      )}
      <AcknowledgeDialog checks={toAcknowledge} scope={scope} onClose={() => setToAcknowledge([])} />
    </section>
  );
}

/**
 * Holds the checks for which the dialog is open: none, or those that the reader is about to acknowledge. A link in a mail
 * names a check and what was checked, so that the dialog is open at first.
 */
function useChecksToAcknowledge(checks: readonly ShownCheck[], { canChange }: PageScope) {
  const search = new URLSearchParams(useSearch());
  const [name, of] = [search.get("check"), search.get("of")];
  const namedByLink = checks
    .filter(isAcknowledgeable)
    .filter((check) => canChange && check.name === name && check.of === of && check.acknowledged === null);
  return useState<readonly Acknowledgeable[]>(namedByLink);
}

const tones: Readonly<Record<ShownCheck["severity"], Tone>> = { failure: "danger", warning: "warning", info: "info" };
const severityNames: Readonly<Record<ShownCheck["severity"], string>> = {
  failure: "Failure:",
  warning: "Warning:",
  info: "Info:",
};

interface CheckItemProps {
  readonly check: ShownCheck;
  readonly scope: PageScope;
  readonly onAcknowledge: (checks: readonly Acknowledgeable[]) => void;
}

function CheckItem({ check, scope, onAcknowledge }: CheckItemProps) {
  const { severity, text, fix, at, acknowledged, partner_name: partnerName } = check;
  const address = checkAddress(check, scope);
  return (
    <li class={`check check-${acknowledged === null ? severity : "acknowledged"}`}>
      <StatusMark tone={acknowledged === null ? tones[severity] : "neutral"} />
      <div class="check-text">
        <p>
          <span class="visually-hidden">{severityNames[severity]} </span>
          {partnerName !== null && <strong>{partnerName}: </strong>}
          {text}
        </p>
        <p class="muted">
          <Sentence>{fix}</Sentence>
          {at !== null && (
            <>
              {" "}
              {Date.parse(at) > new Date().getTime() ? "On" : "Since"} <Time at={at} />.
            </>
          )}
        </p>
        {acknowledged !== null && (
          <p class="muted">
            Acknowledged{" "}
            {acknowledged.until === null ? (
              "until it is over or gets worse"
            ) : (
              <>
                until <Time at={acknowledged.until} />
              </>
            )}
            .
          </p>
        )}
      </div>
      <div class="row">
        {isAcknowledgeable(check) && scope.canChange && (
          <AcknowledgeButton check={check} scope={scope} onAcknowledge={onAcknowledge} />
        )}
        {address !== undefined && <ButtonLink href={address.href}>{checkLinks[address.page]}</ButtonLink>}
      </div>
    </li>
  );
}

function AcknowledgeButton({ check, scope, onAcknowledge }: CheckItemProps & { readonly check: Acknowledgeable }) {
  const { unacknowledge, isPending } = useUnacknowledge(scope);
  if (check.acknowledged === null)
    return (
      <Button variant="quiet" onClick={() => onAcknowledge([check])}>
        Acknowledge
      </Button>
    );
  return (
    <Button variant="quiet" pending={isPending} onClick={() => unacknowledge(check)}>
      Undo
    </Button>
  );
}
