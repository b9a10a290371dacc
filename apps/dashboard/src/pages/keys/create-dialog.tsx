import type { ShownAllowance } from "@bikeshare/contract/console";
import { MAX_KEY_NAME, type Scope as KeyScope } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { ScopeChoice } from "../scope-choice.tsx";
import { useAction } from "../use-action.ts";
import { keysHaveChanged, type MadeKey } from "./key-dialogs.tsx";
import { expiriesWithin, instantAfter } from "./new-key.ts";

interface CreateDialogProps {
  readonly systemId: string;
  readonly partnerId: string;
  readonly allowance: ShownAllowance;
  readonly onClose: () => void;
  readonly onMade: (made: MadeKey) => void;
}

/** The values of the form's inputs. */
interface Wanted {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly days: string;
  readonly rate: string;
}

/** A dialog that makes a key for the partner, within the operator's allowance. */
export function CreateDialog({ systemId, partnerId, allowance, onClose, onMade }: CreateDialogProps) {
  const [wanted, setWanted] = useState(() => proposal(allowance));
  const [isTried, setTried] = useState(false);
  const { run, isPending } = useAction();
  const create = async () => {
    setTried(true);
    const { name, scopes, days, rate } = wanted;
    if (scopes.length === 0 || isRateWrong(wanted, allowance)) return;
    await run(async () => {
      const expires_at = instantAfter(Number(days));
      const body = { name: name.trim() || null, scopes: [...scopes], expires_at, rate_limit: Number(rate) };
      const { key } = await api.partnerKeys.create({ params: { system_id: systemId, partner_id: partnerId }, body });
      await keysHaveChanged();
      onMade({ key, replacedEndsAt: null });
    });
  };
  const change = (changed: Partial<Wanted>) => setWanted({ ...wanted, ...changed });
  return (
    <Dialog title="Create a key" isOpen onClose={onClose}>
      <Form onSubmit={() => void create()}>
        <Fields wanted={wanted} allowance={allowance} isTried={isTried} onChange={change} />
        <div class="row form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={isPending}>
            Create the key
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** Returns the initial values: the earliest expiry, and at most 60 of the requests per minute that are left. */
function proposal({ days, rate_limit_left: left }: ShownAllowance): Wanted {
  const [shortest] = expiriesWithin(days);
  return { name: "", scopes: [], days: shortest?.value ?? "", rate: String(Math.min(60, left)) };
}

function isRateWrong({ rate }: Wanted, { rate_limit_left: left }: ShownAllowance): boolean {
  return !/^[1-9]\d*$/.test(rate) || Number(rate) > left;
}

interface FieldsProps {
  readonly wanted: Wanted;
  readonly allowance: ShownAllowance;
  /** Whether the reader has tried to submit the form. Missing fields are then marked. */
  readonly isTried: boolean;
  readonly onChange: (changed: Partial<Wanted>) => void;
}

function Fields({ wanted, allowance, isTried, onChange }: FieldsProps) {
  const { name, scopes, days, rate } = wanted;
  const { rate_limit: limit, rate_limit_left: left } = allowance;
  return (
    <>
      <TextField
        label="Name"
        hint="What it is used for, such as “Journey planner”"
        value={name}
        onInput={(value) => onChange({ name: value })}
        maxLength={MAX_KEY_NAME}
      />
      <ScopeChoice
        offered={allowance.scopes}
        chosen={scopes}
        error={isTried && scopes.length === 0 ? "Choose at least one scope." : undefined}
        onChange={(chosen) => onChange({ scopes: chosen })}
      />
      <SelectField
        label="Expires"
        value={days}
        choices={expiriesWithin(allowance.days)}
        onChange={(value) => onChange({ days: value })}
      />
      <TextField
        label="Requests per minute"
        hint={`${left.toLocaleString("en")} of ${limit.toLocaleString("en")} are left for new keys.`}
        error={isTried && isRateWrong(wanted, allowance) ? `Enter a whole number from 1 to ${left}.` : undefined}
        type="number"
        inputMode="numeric"
        value={rate}
        onInput={(value) => onChange({ rate: value })}
      />
    </>
  );
}
