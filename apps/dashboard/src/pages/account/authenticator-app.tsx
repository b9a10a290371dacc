import type { Account } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Notice } from "../../components/notice.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";

type Setup = Awaited<ReturnType<typeof api.account.beginAuthenticatorApp>>;

/** The codes that are asked for beside the password. */
export function AuthenticatorApp({ account }: { readonly account: Account }) {
  const [setup, setSetup] = useState<Setup>();
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[]>();
  const { run, isPending } = useAction();
  const { is_set_up: isSetUp, recovery_codes_left: left } = account.authenticator_app;
  const begin = () => run(async () => setSetup(await api.account.beginAuthenticatorApp({ body: {} })));
  const finish = (setupToken: string, code: string) =>
    run(async () => {
      const body = { setup_token: setupToken, code };
      const { recovery_codes } = await api.account.setAuthenticatorApp({ body });
      setSetup(undefined);
      setRecoveryCodes(recovery_codes);
      await queries.invalidateQueries({ queryKey: ["account"] });
    });
  const remove = () =>
    run(async () => {
      queries.setQueryData(["account"], await api.account.removeAuthenticatorApp());
      showToast("success", "The password alone signs you in from now on.");
    });
  return (
    <section class="stack" aria-labelledby="authenticator">
      <div class="row">
        <h2 id="authenticator">Authenticator app</h2>
        <Button pending={isPending} onClick={() => void begin()}>
          {isSetUp ? "Set up anew" : "Set up"}
        </Button>
        {isSetUp && (
          <Button variant="quiet" pending={isPending} onClick={() => void remove()}>
            Remove
          </Button>
        )}
      </div>
      <p class="muted">
        {isSetUp
          ? `A code of it is asked for beside the password. Recovery codes left: ${left}.`
          : "A code that changes every 30 seconds, asked for beside the password."}
      </p>
      <Dialog title="Set up an authenticator app" isOpen={setup !== undefined} onClose={() => setSetup(undefined)}>
        {setup !== undefined && (
          <SetupForm setup={setup} isPending={isPending} onCode={(code) => void finish(setup.setup_token, code)} />
        )}
      </Dialog>
      <Dialog title="Recovery codes" isOpen={recoveryCodes !== undefined} onClose={() => setRecoveryCodes(undefined)}>
        <RecoveryCodes codes={recoveryCodes ?? []} />
      </Dialog>
    </section>
  );
}

function RecoveryCodes({ codes }: { readonly codes: readonly string[] }) {
  return (
    <>
      <Notice tone="warning">
        Each signs you in once when you have lost the app. They are shown only now: keep them where the app is not.
      </Notice>
      <ul class="recovery-codes">
        {codes.map((code) => (
          <li key={code} class="mono">
            {code}
          </li>
        ))}
      </ul>
      <CopyButton text={codes.join("\n")} label="Copy the recovery codes">
        Copy all
      </CopyButton>
    </>
  );
}

interface SetupFormProps {
  readonly setup: Setup;
  readonly isPending: boolean;
  readonly onCode: (code: string) => void;
}

function SetupForm({ setup, isPending, onCode }: SetupFormProps) {
  const [code, setCode] = useState("");
  return (
    <Form onSubmit={() => onCode(code)}>
      <p>Scan this with the app, or type the secret into it. Then type the code that it shows.</p>
      <QrCode rows={setup.qr_rows} />
      <p class="row">
        <code class="mono">{setup.secret.match(/.{1,4}/g)?.join(" ")}</code>
        <CopyButton text={setup.secret} label="Copy the secret" />
      </p>
      <TextField
        label="Code"
        autocomplete="one-time-code"
        inputMode="numeric"
        maxLength={7}
        value={code}
        onInput={setCode}
        required
      />
      <Button type="submit" variant="primary" pending={isPending}>
        Finish
      </Button>
    </Form>
  );
}

/** A QR code: rows of `1` (dark) and `0`. */
function QrCode({ rows }: { readonly rows: readonly string[] }) {
  const dark = rows.flatMap((row, y) =>
    [...row.matchAll(/1+/g)].map(({ 0: run, index }) => `M${index} ${y}h${run.length}v1h-${run.length}z`),
  );
  return (
    <svg class="qr" viewBox={`0 0 ${rows.length} ${rows.length}`} role="img" aria-label="The secret as a QR code">
      <path d={dark.join("")} fill="currentColor" shape-rendering="crispEdges" />
    </svg>
  );
}
