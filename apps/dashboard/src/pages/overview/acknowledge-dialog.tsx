import type { ShownCheck } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField } from "../../components/field.tsx";
import { showToast } from "../../components/toast.tsx";
import type { PageScope } from "../scope.ts";
import { useAction } from "../use-action.ts";

/** A failed check that can be acknowledged: no mail is then sent about it for a chosen time, unless it gets worse. */
export interface Acknowledgeable extends ShownCheck {
  /** The machine or system that was checked; empty: the whole deployment. Checks that have null cannot be acknowledged. */
  readonly of: string;
  readonly severity: "warning" | "failure";
}

/** Tells whether a check can be acknowledged. Mere information needs no acknowledgement. */
export function isAcknowledgeable(check: ShownCheck): check is Acknowledgeable {
  return check.of !== null && check.severity !== "info";
}

const HOUR_MS = 3_600_000;
/** The choice of a duration that ends when the problem does, or gets worse. */
const UNTIL_CHANGE = "change";
/** The choices of a duration: `UNTIL_CHANGE`, or a number of hours. */
const durations = [
  { value: UNTIL_CHANGE, label: "Until it is over or gets worse" },
  { value: "1", label: "For 1 hour" },
  { value: "24", label: "For 1 day" },
  { value: "168", label: "For 1 week" },
];

interface AcknowledgeDialogProps {
  /** The checks to acknowledge. Empty: the dialog is closed. */
  readonly checks: readonly Acknowledgeable[];
  readonly scope: PageScope;
  readonly onClose: () => void;
}

/** A dialog that asks for how long to acknowledge problems. */
export function AcknowledgeDialog({ checks, scope, onClose }: AcknowledgeDialogProps) {
  const [duration, setDuration] = useState(UNTIL_CHANGE);
  const { run, isPending } = useAction();
  const acknowledge = () =>
    void run(async () => {
      const until =
        duration === UNTIL_CHANGE ? null : new Date(new Date().getTime() + Number(duration) * HOUR_MS).toISOString();
      for (const { name, of, subject, severity } of checks)
        await api.checks.acknowledge({
          params: { system_id: scope.systemId },
          body: { name, of, subject, severity, until },
        });
      await checksHaveChanged();
      showToast("success", "Acknowledged. No mail is sent about it.");
      onClose();
    });
  return (
    <Dialog
      title="Acknowledge"
      isOpen={checks.length > 0}
      onClose={onClose}
      actions={
        <>
          <Button variant="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button variant="primary" pending={isPending} onClick={acknowledge}>
            Acknowledge
          </Button>
        </>
      }
    >
      {checks.map(({ name, subject, text }) => (
        <p key={`${name} ${subject}`}>{text}</p>
      ))}
      <p class="muted">It stays visible and sends no mail. If it gets worse, a mail is sent again.</p>
      <SelectField label="How long" value={duration} onChange={setDuration} choices={durations} />
    </Dialog>
  );
}

/** Reloads the checks, and the numbers of problems in the navigation. */
function checksHaveChanged(): Promise<unknown> {
  return Promise.all(["system-overview", "attention"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
}

/** Returns a function that takes an acknowledgement back, and whether it is running. */
export function useUnacknowledge(scope: PageScope) {
  const { run, isPending } = useAction();
  const unacknowledge = ({ name, of, subject }: Acknowledgeable) =>
    void run(async () => {
      await api.checks.unacknowledge({ params: { system_id: scope.systemId }, body: { name, of, subject } });
      await checksHaveChanged();
    });
  return { unacknowledge, isPending };
}
