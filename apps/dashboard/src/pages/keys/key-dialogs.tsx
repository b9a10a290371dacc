import type { ShownKey } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField } from "../../components/field.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { keyName } from "../key-name.ts";
import type { PageScope } from "../scope.ts";
import { useAction } from "../use-action.ts";

/* The dialogs that rotate and revoke a key, and the one that shows a new key. The pages of keys share them. */

interface KeyDialogProps {
  readonly shown: ShownKey;
  readonly scope: PageScope;
  readonly onClose: () => void;
}

/** A key that was just made. */
export interface MadeKey {
  readonly key: string;
  /** When the replaced key ends; null: the new key replaces none. */
  readonly replacedEndsAt: string | null;
}

/** Reloads the lists of keys, and the overviews, whose checks may be about keys. */
export function keysHaveChanged(): Promise<unknown> {
  const changed = ["keys", "overview", "system-overview"];
  return Promise.all(changed.map((name) => queries.invalidateQueries({ queryKey: [name] })));
}

/** The choices of how many hours both keys work. */
const overlaps = [
  { value: "24", label: "1 day" },
  { value: "168", label: "7 days" },
  { value: "720", label: "30 days" },
  { value: "1", label: "1 hour" },
  { value: "0", label: "None: the old key ends immediately" },
];

/** A dialog that replaces a key. It asks how long the old key shall keep working, and makes the new one. */
export function RotateDialog({
  shown,
  scope,
  onClose,
  onMade,
}: KeyDialogProps & { readonly onMade: (made: MadeKey) => void }) {
  const [hours, setHours] = useState("168");
  const { run, isPending } = useAction();
  const rotate = () =>
    run(async () => {
      const made = await requestRotation(shown.id, Number(hours), scope);
      await keysHaveChanged();
      onMade({ key: made.key, replacedEndsAt: made.replaced_key_ends_at });
    });
  return (
    <Dialog
      title={`Rotate ${keyName(shown)}`}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" pending={isPending} onClick={() => void rotate()}>
            Make the new key
          </Button>
        </>
      }
    >
      <p>
        A new key with the same scopes and limit replaces this one. Both work during the overlap, so that you can deploy
        the new key.
      </p>
      <SelectField label="Both work for" value={hours} choices={overlaps} onChange={setHours} />
      {shown.expires_at !== null && (
        <Notice tone="info">The new key expires when this one does. For a later expiry, make a new key.</Notice>
      )}
    </Dialog>
  );
}

function requestRotation(id: string, hours: number, { systemId, partnerId }: PageScope) {
  const body = { overlap_hours: hours };
  return partnerId === undefined
    ? api.systemKeys.rotate({ params: { system_id: systemId, id }, body })
    : api.partnerKeys.rotate({ params: { system_id: systemId, partner_id: partnerId, id }, body });
}

/** A dialog that asks for a confirmation and revokes a key. */
export function RevokeDialog({ shown, scope, onClose }: KeyDialogProps) {
  const { run, isPending } = useAction();
  const revoke = async () => {
    const isDone = await run(async () => {
      await requestRevocation(shown.id, scope);
      await keysHaveChanged();
    });
    if (!isDone) return;
    showToast("success", `${keyName(shown)} is revoked.`);
    onClose();
  };
  return (
    <Dialog
      title={`Revoke ${keyName(shown)}?`}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" pending={isPending} onClick={() => void revoke()}>
            Revoke the key
          </Button>
        </>
      }
    >
      <p>
        Requests with <code class="mono">{`${shown.prefix}…${shown.last4}`}</code> are refused within a second, and it
        can never be used again.
      </p>
      {isInUse(shown) && (
        <Notice tone="warning">
          This key was used in the last 24 hours. Rotate it instead to give its users time to switch.
        </Notice>
      )}
    </Dialog>
  );
}

const DAY_MS = 86_400_000;

function isInUse({ last_used_at: usedAt }: ShownKey): boolean {
  return usedAt !== null && new Date().getTime() - Date.parse(usedAt) < DAY_MS;
}

function requestRevocation(id: string, { systemId, partnerId }: PageScope) {
  return partnerId === undefined
    ? api.systemKeys.revoke({ params: { system_id: systemId, id }, body: {} })
    : api.partnerKeys.revoke({ params: { system_id: systemId, partner_id: partnerId, id }, body: {} });
}

/** A dialog with a key that was just made. The key is never shown again. */
export function MadeKeyDialog({ made, onClose }: { readonly made: MadeKey; readonly onClose: () => void }) {
  return (
    <Dialog
      title="The new key"
      isOpen
      onClose={onClose}
      actions={
        <Button variant="primary" onClick={onClose}>
          I have kept it
        </Button>
      }
    >
      <Notice tone="warning">Copy it now: it is not shown again.</Notice>
      <Code text={made.key} label="The new key" />
      {made.replacedEndsAt !== null && Date.parse(made.replacedEndsAt) > new Date().getTime() && (
        <p class="muted">
          The old key works until <Time at={made.replacedEndsAt} show="exact" />. Its last use, on this page, says
          whether anybody still has it.
        </p>
      )}
    </Dialog>
  );
}
