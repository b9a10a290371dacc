import { MAX_KEY_NAME, MAX_RATE_LIMIT } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { ScopeChoice } from "../scope-choice.tsx";
import { useAction } from "../use-action.ts";
import { keysHaveChanged, type MadeKey } from "./key-dialogs.tsx";
import { problemOf, keyRequest, type NewKey, OPERATOR } from "./new-key.ts";

interface IssueDialogProps {
  readonly systemId: string;
  readonly onClose: () => void;
  readonly onMade: (made: MadeKey) => void;
}

/** A dialog in which the operator makes a key for a partner or for themselves. */
export function IssueDialog({ systemId, onClose, onMade }: IssueDialogProps) {
  const [wanted, setWanted] = useState<NewKey>({ owner: "", name: "", scopes: [], days: "", rate: "" });
  const [isTried, setTried] = useState(false);
  const { run, isPending } = useAction();
  // `problemOf` returns what is wrong with the form. It is shown once the reader has tried to submit.
  const error = isTried ? problemOf(wanted) : undefined;
  const issue = async () => {
    setTried(true);
    if (problemOf(wanted) !== undefined) return;
    await run(async () => {
      const body = keyRequest(wanted, new Date().getTime());
      const made = await api.systemKeys.issue({ params: { system_id: systemId }, body });
      await keysHaveChanged();
      onMade({ key: made.key, replacedEndsAt: null });
    });
  };
  return (
    <Dialog title="Issue a key" isOpen onClose={onClose}>
      <Form onSubmit={() => void issue()}>
        <Fields
          wanted={wanted}
          owners={useOwners(systemId)}
          error={error}
          onChange={(change) => setWanted({ ...wanted, ...change })}
        />
        <div class="row form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={isPending}>
            Issue the key
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

interface Owner {
  readonly value: string;
  readonly label: string;
}

/** Returns the choices of the owner of a key: the operator and each active partner. */
function useOwners(systemId: string): readonly Owner[] {
  const { data } = useQuery({
    queryKey: ["partners", systemId],
    queryFn: ({ signal }) => api.partners.list({ params: { system_id: systemId }, signal }),
  });
  const active = (data?.data ?? []).filter(({ status }) => status === "active");
  return [
    { value: "", label: "Choose …" },
    ...active.map(({ id, name }) => ({ value: id, label: name })),
    { value: OPERATOR, label: "The operator: full access under /operator" },
  ];
}

const expiries = [
  { value: "", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

interface FieldsProps {
  readonly wanted: NewKey;
  readonly owners: readonly Owner[];
  readonly error: string | undefined;
  readonly onChange: (change: Partial<NewKey>) => void;
}

function Fields({ wanted, owners, error, onChange }: FieldsProps) {
  const { owner, name, days, rate } = wanted;
  return (
    <>
      <SelectField
        label="For"
        value={owner}
        choices={owners}
        onChange={(value) => onChange({ owner: value })}
        error={owner === "" ? error : undefined}
      />
      <TextField
        label="Name"
        hint="What it is used for, such as “Journey planner”"
        value={name}
        onInput={(value) => onChange({ name: value })}
        maxLength={MAX_KEY_NAME}
      />
      {owner !== OPERATOR && (
        <ScopeChoice
          chosen={wanted.scopes}
          error={owner === "" ? undefined : error}
          onChange={(scopes) => onChange({ scopes })}
        />
      )}
      <SelectField label="Expires" value={days} choices={expiries} onChange={(value) => onChange({ days: value })} />
      <TextField
        label="Requests per minute"
        hint="Left empty: the default"
        type="number"
        inputMode="numeric"
        min={1}
        max={MAX_RATE_LIMIT}
        value={rate}
        onInput={(value) => onChange({ rate: value })}
      />
    </>
  );
}
