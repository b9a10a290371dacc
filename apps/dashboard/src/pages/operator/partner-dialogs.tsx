import type { ShownPartner } from "@bikeshare/contract/console";
import { MAX_PARTNER_NAME, MAX_RESERVATION_LIMIT } from "@bikeshare/contract/pure";
import { useEffect, useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { ApiError } from "../../api/errors.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Notice } from "../../components/notice.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";

/* The operator's dialogs that add, change, suspend and remove a partner. */

interface DialogProps {
  readonly systemId: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface PartnerDialogProps extends DialogProps {
  /** The partner to change. Undefined: a partner is added. */
  readonly partner?: ShownPartner;
  readonly onDone?: (partner: ShownPartner) => void;
}

/** A dialog that adds a partner, or changes its name and limit. */
export function PartnerDialog(props: PartnerDialogProps) {
  const { partner, isOpen, onClose } = props;
  const { name, setName, limit, setLimit, nameError, save, isPending } = usePartnerForm(props);
  return (
    <Dialog title={partner === undefined ? "Add a partner" : "Change the partner"} isOpen={isOpen} onClose={onClose}>
      <Form onSubmit={() => void save()}>
        <TextField
          label="Name"
          hint="The company’s name; must be unique."
          error={nameError}
          maxLength={MAX_PARTNER_NAME}
          value={name}
          onInput={setName}
          required
        />
        <TextField
          label="Active reservations, at most"
          hint="Leave empty for the service’s default."
          type="number"
          inputMode="numeric"
          min={1}
          max={MAX_RESERVATION_LIMIT}
          value={limit}
          onInput={setLimit}
        />
        <div class="row form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={isPending} disabled={name.trim() === ""}>
            {partner === undefined ? "Add" : "Save"}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** Holds the values of the form, and saves them. `nameError` says which partner has the name that was refused. */
function usePartnerForm({ systemId, partner, isOpen, onClose, onDone }: PartnerDialogProps) {
  const [name, setName] = useState("");
  const [limit, setLimit] = useState("");
  const [refused, setRefused] = useState<{ readonly name: string; readonly message: string }>();
  const { run, isPending } = useAction();
  // Fills the form each time the dialog opens. An empty limit stands for the service's default.
  useEffect(() => {
    setName(partner?.name ?? "");
    setLimit(partner?.has_own_max_reservations === true ? String(partner.max_reservations) : "");
    setRefused(undefined);
  }, [isOpen]);
  const save = () =>
    run(async () => {
      const body = { name: name.trim(), max_reservations: limit === "" ? null : Number(limit) };
      try {
        const saved = await sendPartner(systemId, partner, body);
        await showPartner(systemId, saved);
        onClose();
        onDone?.(saved);
      } catch (failure) {
        if (!isNameTaken(failure)) throw failure;
        setRefused({ name, message: failure.message });
      }
    });
  // The refusal is about the name that was sent, and not about the one that the reader types next.
  const nameError = refused?.name === name ? refused.message : undefined;
  return { name, setName, limit, setLimit, nameError, save, isPending };
}

/**
 * Tells whether a change was refused because another partner has the name. Other conflicts, such as that of a removed
 * partner, have the same code, so only the message tells them apart.
 */
export function isNameTaken(failure: unknown): failure is ApiError {
  return failure instanceof ApiError && failure.code === "conflict" && failure.message.includes("has the name");
}

function sendPartner(
  systemId: string,
  partner: ShownPartner | undefined,
  body: { readonly name: string; readonly max_reservations: number | null },
): Promise<ShownPartner> {
  const params = { system_id: systemId };
  return partner === undefined
    ? api.partners.create({ params, body })
    : api.partners.set({ params: { ...params, partner_id: partner.id }, body });
}

interface ChangeProps extends DialogProps {
  readonly partner: ShownPartner;
}

/** A dialog that asks for a confirmation and suspends a partner, whose keys are then rejected. */
export function SuspendDialog({ systemId, partner, isOpen, onClose }: ChangeProps) {
  const { run, isPending } = useAction();
  const suspend = () =>
    run(async () => {
      const params = { system_id: systemId, partner_id: partner.id };
      await showPartner(systemId, await api.partners.suspend({ params, body: {} }));
      showToast("success", `${partner.name} is suspended.`);
      onClose();
    });
  return (
    <Dialog
      title={`Suspend ${partner.name}?`}
      isOpen={isOpen}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" pending={isPending} onClick={() => void suspend()}>
            Suspend
          </Button>
        </>
      }
    >
      <p>
        Within a second its keys are refused. Its deliveries are held until you resume it. Active reservations end at
        their expiry.
      </p>
    </Dialog>
  );
}

/**
 * A dialog that removes a partner with everything that belongs to it. The operator confirms by typing the partner's name.
 */
export function RemoveDialog({ systemId, partner, isOpen, onClose }: ChangeProps) {
  const [name, setName] = useState("");
  const { run, isPending } = useAction();
  useEffect(() => setName(""), [isOpen]);
  const remove = () =>
    run(async () => {
      const params = { system_id: systemId, partner_id: partner.id };
      const removed = await api.partners.remove({ params, body: { name } });
      await showPartner(systemId, removed.partner);
      const ended = `${removed.revoked_keys} keys revoked, ${removed.cancelled_reservations} reservations cancelled`;
      showToast("success", `${partner.name} is removed: ${ended}.`);
      onClose();
    });
  return (
    <Dialog
      title={`Remove ${partner.name}?`}
      isOpen={isOpen}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" pending={isPending} disabled={name !== partner.name} onClick={() => void remove()}>
            Remove for good
          </Button>
        </>
      }
    >
      <Notice tone="warning" title="This cannot be undone">
        Every key is revoked, the webhook and its secrets are removed, and active reservations are cancelled. The logs
        stay. Suspending can be undone.
      </Notice>
      <TextField label={`Type the partner’s name: ${partner.name}`} value={name} onInput={setName} />
    </Dialog>
  );
}

/** Updates the cache with the response to a change of a partner. */
export async function showPartner(systemId: string, partner: ShownPartner): Promise<void> {
  queries.setQueryData(["partner", systemId, partner.id], partner);
  await queries.invalidateQueries({ queryKey: ["partners", systemId] });
}
