import type { Account } from "@bikeshare/contract/console";
import { MAX_PASSKEY_NAME } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useSignInOptions } from "../../session/branding.ts";
import { addPasskey, passkeyName } from "../../session/passkeys.ts";
import { useAction } from "../use-action.ts";

type Passkey = Account["passkeys"][number];

/** The passkeys of an account. */
export function Passkeys({ account }: { readonly account: Account }) {
  const { data: offered } = useSignInOptions();
  const [isAdding, setIsAdding] = useState(false);
  // Possible, as far as is known, while the offered methods are still loading.
  const isPossible = offered?.methods.passkey !== false;
  return (
    <section class="stack" aria-labelledby="passkeys">
      <div class="row">
        <h2 id="passkeys">Passkeys</h2>
        {isPossible && (
          <Button variant="primary" onClick={() => setIsAdding(true)}>
            Add a passkey
          </Button>
        )}
      </div>
      <PasskeyTable passkeys={account.passkeys} isPossible={isPossible} />
      <Dialog title="Add a passkey" isOpen={isAdding} onClose={() => setIsAdding(false)}>
        <AddForm onAdded={() => setIsAdding(false)} />
      </Dialog>
    </section>
  );
}

interface PasskeyTableProps {
  readonly passkeys: readonly Passkey[];
  readonly isPossible: boolean;
}

function PasskeyTable({ passkeys, isPossible }: PasskeyTableProps) {
  const { run, isPending } = useAction();
  const remove = (passkey: Passkey) =>
    run(async () => {
      queries.setQueryData(["account"], await api.account.removePasskey({ params: { id: passkey.id } }));
      showToast("success", `The passkey ${passkey.name} signs nobody in any more.`);
    });
  const columns: readonly Column<Passkey>[] = [
    { id: "name", title: "Name", cell: ({ name }) => name },
    {
      id: "kept",
      title: "Kept",
      isSecondary: true,
      cell: ({ is_synced }) => (is_synced ? "on all your devices" : "on one device"),
    },
    { id: "added", title: "Added", isSecondary: true, cell: ({ created_at }) => <Time at={created_at} /> },
    { id: "used", title: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} show="relative" /> },
    {
      id: "remove",
      title: "",
      align: "end",
      cell: (passkey) => (
        <Button variant="quiet" pending={isPending} onClick={() => void remove(passkey)}>
          Remove
        </Button>
      ),
    },
  ];
  const why = isPossible
    ? "Stored on your phone, computer or password manager. Faster than a password, and cannot be phished."
    : "Passkeys are unavailable: the service does not allow them, or you opened it by an IP address.";
  return (
    <Table
      caption="Passkeys"
      rows={passkeys}
      rowKey={({ id }) => id}
      columns={columns}
      empty={<EmptyState title="No passkey yet">{why}</EmptyState>}
    />
  );
}

function AddForm({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState(passkeyName);
  const { run, isPending } = useAction();
  const add = async () => {
    const isDone = await run(async () => {
      queries.setQueryData(["account"], await addPasskey(name));
      showToast("success", "Passkey added.");
    });
    if (isDone) onAdded();
  };
  return (
    <Form onSubmit={() => void add()}>
      <TextField
        label="Name"
        hint="Such as “Work laptop”"
        maxLength={MAX_PASSKEY_NAME}
        value={name}
        onInput={setName}
        required
      />
      <Button type="submit" variant="primary" pending={isPending}>
        Continue in the browser
      </Button>
    </Form>
  );
}
