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
import { useShownOnce } from "../../session/shown-once.ts";
import { useAction } from "../use-action.ts";

type Setup = Awaited<ReturnType<typeof api.account.beginAuthenticatorApp>>;

/** The setup of an authenticator app, whose codes the sign-in asks for after the password. */
export function AuthenticatorApp({ account }: { readonly account: Account }) {
  // Both are secrets that the service tells once. They are forgotten when the session ends.
  const [setup, setSetup] = useShownOnce<Setup>();
  const [recoveryCodes, setRecoveryCodes] = useShownOnce<readonly string[]>();
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
      showToast("success", "Signing in no longer asks for a code.");
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
          ? `Signing in with the password also asks for a code. Recovery codes left: ${left}.`
          : "Adds a code that changes every 30 seconds to the password."}
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
        Each code signs you in once if you lose the app. Save them now, away from the app: they are not shown again.
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
      <p>Scan this with the app, or enter the secret. Then enter the code that the app shows.</p>
      <QrCode rows={setup.qr_rows} />
      <p class="row">
        <code class="mono">{setup.secret.match(/.{1,4}/g)?.join(" ")}</code>
        <CopyButton text={setup.secret} label="Copy the secret" />
      </p>
      <TextField
        label="Code"
        autocomplete="one-time-code"
        inputMode="numeric"
        // Six digits, perhaps with a space between the third and the fourth, as some apps show them.
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

/** Draws a QR code. Each row is a string of `1` (dark) and `0` (light). */
function QrCode({ rows }: { readonly rows: readonly string[] }) {
  // One rectangle for each run of dark squares in a row.
  const dark = rows.flatMap((row, y) =>
    [...row.matchAll(/1+/g)].map(({ 0: run, index }) => `M${index} ${y}h${run.length}v1h-${run.length}z`),
  );
  return (
    <svg class="qr" viewBox={`0 0 ${rows.length} ${rows.length}`} role="img" aria-label="The secret as a QR code">
      <path d={dark.join("")} fill="currentColor" shape-rendering="crispEdges" />
    </svg>
  );
}
