import type { Account } from "@bikeshare/contract/console";
import { MIN_PASSWORD_LENGTH } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { showToast } from "../../components/toast.tsx";
import { useSignedIn } from "../../session/session.ts";
import { useAction } from "../use-action.ts";

interface PasswordProps {
  readonly account: Account;
  /** Whether the service allows signing in with a password. */
  readonly isPossible: boolean;
}

/** The password of an account. */
export function Password({ account, isPossible }: PasswordProps) {
  const [isSetting, setIsSetting] = useState(false);
  const { run, isPending } = useAction();
  const remove = () =>
    run(async () => {
      queries.setQueryData(["account"], await api.account.removePassword());
      showToast("success", "Password removed.");
    });
  const { has_password: isSet } = account;
  return (
    <section class="stack" aria-labelledby="password">
      <div class="row">
        <h2 id="password">Password</h2>
        {isPossible && <Button onClick={() => setIsSetting(true)}>{isSet ? "Change" : "Set a password"}</Button>}
        {isSet && (
          <Button variant="quiet" pending={isPending} onClick={() => void remove()}>
            Remove
          </Button>
        )}
      </div>
      <p class="muted">{isSet ? "A password is set." : "No password is set."}</p>
      <Dialog
        title={isSet ? "Change the password" : "Set a password"}
        isOpen={isSetting}
        onClose={() => setIsSetting(false)}
      >
        <PasswordForm onSet={() => setIsSetting(false)} />
      </Dialog>
    </section>
  );
}

function PasswordForm({ onSet }: { readonly onSet: () => void }) {
  const { person } = useSignedIn();
  const [password, setPassword] = useState("");
  const { run, isPending } = useAction();
  const save = async () => {
    const isDone = await run(async () => {
      queries.setQueryData(["account"], await api.account.setPassword({ body: { password } }));
      showToast("success", "Password set. All other browsers are signed out.");
    });
    if (isDone) onSet();
  };
  return (
    <Form onSubmit={() => void save()}>
      {/* Tells password managers which account the password belongs to. */}
      <input type="text" hidden readOnly name="username" autocomplete="username" value={person.email} />
      <TextField
        label="New password"
        hint={`At least ${MIN_PASSWORD_LENGTH} characters: a few words are easier to remember than one with signs`}
        type="password"
        autocomplete="new-password"
        minLength={MIN_PASSWORD_LENGTH}
        value={password}
        onInput={setPassword}
        required
      />
      <Button type="submit" variant="primary" pending={isPending}>
        Save
      </Button>
    </Form>
  );
}
