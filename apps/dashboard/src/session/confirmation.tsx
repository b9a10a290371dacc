import { useEffect, useState } from "preact/hooks";
import { useLocation, useSearch } from "wouter-preact";
import { api } from "../api/api.ts";
import { ApiError } from "../api/errors.ts";
import { type ShownQuery, useQuery } from "../api/queries.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorState } from "../components/error-state.tsx";
import { TextField } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { useSignInOptions } from "./branding.ts";
import { provePasskey } from "./passkeys.ts";
import { ProviderButton, returnAddress } from "./provider.tsx";
import { adoptSession, useSession } from "./session.ts";

/*
 * Before some actions, such as showing a secret, the server asks for a confirmation: the reader proves their identity once
 * more, with a passkey, a password or at the identity provider.
 */

/** Thrown when the reader closes the dialog instead of confirming. Their action is not executed. */
export class ConfirmationCancelled extends Error {
  override readonly name = "ConfirmationCancelled";
}

/** A request that waits for the reader's confirmation. Several may wait for the same one. */
interface Pending {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Opens the dialog for a waiting request. Undefined: `ConfirmationDialog` is not rendered. */
let show: ((pending: Pending) => void) | undefined;

/**
 * Runs a request that may need a confirmation. If the server asks for one, a dialog asks the reader to prove their identity,
 * and the request is sent again.
 * @throws ConfirmationCancelled when the reader closes the dialog
 */
export async function withConfirmation<Result>(request: () => Promise<Result>): Promise<Result> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "confirmation_required") || show === undefined) throw error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    show({ resolve, reject });
    await promise;
    return request();
  }
}

/** The dialog that `withConfirmation` opens. Rendered once for all pages. */
export function ConfirmationDialog() {
  const [waiting, setWaiting] = useState<readonly Pending[]>([]);
  useEffect(() => {
    show = (pending) => setWaiting((earlier) => [...earlier, pending]);
    return () => void (show = undefined);
  }, []);
  const end = (endOne: (pending: Pending) => void) => {
    for (const pending of waiting) endOne(pending);
    setWaiting([]);
  };
  const cancel = ({ reject }: Pending) =>
    reject(new ConfirmationCancelled("Nothing changed: you did not confirm your identity."));
  return (
    <Dialog title="Confirm your identity" isOpen={waiting.length > 0} onClose={() => end(cancel)}>
      <ConfirmationForm onConfirmed={() => end(({ resolve }) => resolve())} />
    </Dialog>
  );
}

/** A proof of identity, as the server reads it. */
type Confirmation = Parameters<typeof api.session.confirm>[0]["body"];

/** Offers the ways to confirm that both the account and the service have. */
function ConfirmationForm({ onConfirmed }: { readonly onConfirmed: () => void }) {
  const reading = useQuery({ queryKey: ["account"], queryFn: () => api.account.get() });
  const account = reading.data;
  const options = useSignInOptions();
  const [error, setError] = useState<string>();
  const [isPending, setIsPending] = useState(false);
  const confirm = async (prove: () => Promise<Confirmation>) => {
    setIsPending(true);
    setError(undefined);
    try {
      adoptSession(await api.session.confirm({ body: await prove() }));
      onConfirmed();
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    } finally {
      setIsPending(false);
    }
  };
  const methods = options.data?.methods;
  const hasPasskey = account !== undefined && methods?.passkey === true && account.passkeys.length > 0;
  const hasPassword = methods?.password === true && account?.has_password === true;
  return (
    <>
      <p>
        What comes next shows a secret, changes who has access or where webhooks are sent. Prove once more that it is
        you.
      </p>
      {error !== undefined && <Notice tone="danger">{error}</Notice>}
      <FailedRead queries={[reading, options]} />
      {hasPasskey && (
        <Button variant="primary" pending={isPending} onClick={() => void confirm(provePasskey)}>
          Use a passkey
        </Button>
      )}
      {hasPassword && (
        <PasswordForm
          asksForCode={account.authenticator_app.is_set_up}
          isPending={isPending}
          onSubmit={(body) => void confirm(() => Promise.resolve(body))}
        />
      )}
      {account !== undefined && account.identity !== null && <ProviderConfirmation />}
      {account !== undefined && methods !== undefined && !hasPasskey && !hasPassword && account.identity === null && (
        <NoWay />
      )}
    </>
  );
}

function NoWay() {
  return (
    <Notice tone="warning">
      You have no passkey or password that is accepted here. Sign out, and open a new invitation: within ten minutes of
      it you can add one.
    </Notice>
  );
}

/** The error of the first query that failed, with a button that repeats the query. */
function FailedRead({ queries }: { readonly queries: readonly ShownQuery[] }) {
  const failed = queries.find(({ error }) => error !== null);
  return failed && <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />;
}

/** Lets the reader prove their identity at the identity provider, which leaves the page. */
function ProviderConfirmation() {
  const [path] = useLocation();
  const search = useSearch();
  const next = returnAddress(search === "" ? path : `${path}?${search}`);
  return (
    <>
      <p class="muted">You leave this page to confirm. Repeat the action afterwards.</p>
      <ProviderButton begin={() => api.session.confirmAtProvider({ body: { next } })} />
    </>
  );
}

interface PasswordFormProps {
  readonly asksForCode: boolean;
  readonly isPending: boolean;
  readonly onSubmit: (body: Confirmation) => void;
}

/** Asks for the password. The hidden input tells password managers whose password it is. */
function PasswordForm({ asksForCode, isPending, onSubmit }: PasswordFormProps) {
  const { data: session } = useSession();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  return (
    <Form onSubmit={() => onSubmit({ password, ...(code !== "" && { code }) })}>
      <input type="text" hidden readOnly name="username" autocomplete="username" value={session?.person.email} />
      <TextField
        label="Password"
        type="password"
        autocomplete="current-password"
        value={password}
        onInput={setPassword}
        required
      />
      {asksForCode && (
        <TextField label="Code" hint="From your authenticator app" value={code} onInput={setCode} required />
      )}
      <Button type="submit" pending={isPending}>
        Confirm
      </Button>
    </Form>
  );
}
