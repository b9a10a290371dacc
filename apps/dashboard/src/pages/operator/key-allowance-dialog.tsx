import type { KeyAllowance, ShownPartner } from "@bikeshare/contract/console";
import { MAX_OWN_KEY_DAYS, MAX_OWN_KEYS, MAX_RATE_LIMIT, type Scope } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Checkbox, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { ScopeChoice } from "../scope-choice.tsx";
import { useAction } from "../use-action.ts";
import { showPartner } from "./partner-dialogs.tsx";

/**
 * The values that the form proposes for a partner without an allowance: scopes to read, and enough keys to rotate one with
 * an overlap.
 */
const PROPOSED: KeyAllowance = {
  scopes: ["stations:read", "rides:read", "bikes:read", "events:read"],
  rate_limit: 120,
  days: 365,
  keys: 4,
};

interface KeyAllowanceDialogProps {
  readonly systemId: string;
  readonly partner: ShownPartner;
  readonly onClose: () => void;
}

/** The values of the form's inputs. */
interface Wanted {
  readonly isAllowed: boolean;
  readonly scopes: readonly Scope[];
  readonly rate: string;
  readonly days: string;
  readonly keys: string;
}

/** A dialog that sets a partner's key allowance: which keys the partner's admins may make. */
export function KeyAllowanceDialog({ systemId, partner, onClose }: KeyAllowanceDialogProps) {
  const [wanted, setWanted] = useState(() => wantedOf(partner.key_allowance));
  const [isTried, setTried] = useState(false);
  const { run, isPending } = useAction();
  const isIncomplete = wanted.isAllowed && wanted.scopes.length === 0;
  const save = async () => {
    setTried(true);
    if (isIncomplete) return;
    await run(async () => {
      const params = { system_id: systemId, partner_id: partner.id };
      const body = { allowance: allowanceOf(wanted) };
      await showPartner(systemId, await api.partners.allowKeys({ params, body }));
      onClose();
    });
  };
  const change = (changed: Partial<Wanted>) => setWanted({ ...wanted, ...changed });
  return (
    <Dialog title="Keys the partner’s admins may create" isOpen onClose={onClose}>
      <Form onSubmit={() => void save()}>
        <Checkbox
          label="The partner’s admins may create keys"
          hint="A rotation with an overlap counts the old and the new key. Keys that you issue do not count."
          checked={wanted.isAllowed}
          onChange={(isAllowed) => change({ isAllowed })}
        />
        {wanted.isAllowed && <Bounds wanted={wanted} isIncomplete={isTried && isIncomplete} onChange={change} />}
        <div class="row form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={isPending}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function wantedOf(allowance: KeyAllowance | null): Wanted {
  const { scopes, rate_limit: rate, days, keys } = allowance ?? PROPOSED;
  return { isAllowed: allowance !== null, scopes, rate: String(rate), days: String(days), keys: String(keys) };
}

function allowanceOf({ isAllowed, scopes, rate, days, keys }: Wanted): KeyAllowance | null {
  if (!isAllowed) return null;
  return { scopes: [...scopes], rate_limit: Number(rate), days: Number(days), keys: Number(keys) };
}

/** The inputs of numbers: the field of `Wanted`, the label and the maximum. */
const numbers = [
  ["rate", "Requests per minute, all these keys combined", MAX_RATE_LIMIT],
  ["days", "Days until a key expires, at most", MAX_OWN_KEY_DAYS],
  ["keys", "Keys that may work at once", MAX_OWN_KEYS],
] as const;

interface BoundsProps {
  readonly wanted: Wanted;
  readonly isIncomplete: boolean;
  readonly onChange: (changed: Partial<Wanted>) => void;
}

function Bounds({ wanted, isIncomplete, onChange }: BoundsProps) {
  return (
    <>
      <ScopeChoice
        chosen={wanted.scopes}
        error={isIncomplete ? "Choose at least one scope." : undefined}
        onChange={(scopes) => onChange({ scopes })}
      />
      {numbers.map(([name, label, max]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          inputMode="numeric"
          required
          min={1}
          max={max}
          value={wanted[name]}
          onInput={(value) => onChange({ [name]: value })}
        />
      ))}
    </>
  );
}
