import { useState } from "preact/hooks";
import { Redirect, useLocation, useSearch } from "wouter-preact";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Notice } from "../../components/notice.tsx";
import { useSignInOptions } from "../../session/branding.ts";
import { provePasskey } from "../../session/passkeys.ts";
import { ProviderNotice } from "../../session/provider-notice.tsx";
import { ProviderButton, returnAddress } from "../../session/provider.tsx";
import { adoptSession, useSession } from "../../session/session.ts";
import "./account.css";

/** The page to sign in: with a passkey, at the identity provider, or with a password. */
export function SignInPage() {
  const { data: session } = useSession();
  const options = useSignInOptions();
  const methods = options.data?.methods;
  const [, navigate] = useLocation();
  const next = nextPage(useSearch());
  const [error, setError] = useState<string>();
  const [isPending, setIsPending] = useState(false);
  /** Runs an attempt to sign in. `work` returns whether the reader is signed in: a password may need a code too. */
  const attempt = async (work: () => Promise<boolean>) => {
    setIsPending(true);
    setError(undefined);
    try {
      if (await work()) navigate(next, { replace: true });
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    } finally {
      setIsPending(false);
    }
  };
  const withPasskey = async () => {
    adoptSession(await api.signIn.passkey({ body: await provePasskey() }));
    return true;
  };
  if (session !== undefined && session !== null) return <Redirect to={next} replace />;
  return (
    <div class="narrow">
      <h1>Sign in</h1>
      <ProviderNotice />
      {error !== undefined && <Notice tone="danger">{error}</Notice>}
      {options.error !== null && <ErrorState error={options.error} onRetry={() => void options.refetch()} />}
      {methods?.passkey === true && (
        <Button variant="primary" pending={isPending} onClick={() => void attempt(withPasskey)}>
          Sign in with a passkey
        </Button>
      )}
      <ProviderButton
        variant={methods?.passkey === true ? "secondary" : "primary"}
        begin={() => api.signIn.beginAtProvider({ body: { next: returnAddress(next) } })}
      />
      {methods?.password === true && (methods.passkey || methods.provider !== null) && <p class="or">or</p>}
      {methods?.password === true && <PasswordForm isPending={isPending} onAttempt={(work) => void attempt(work)} />}
      <p class="muted">
        New here, or nothing of this works? Ask whoever runs the service, or an admin among your people, for an
        invitation.
      </p>
    </div>
  );
}

interface PasswordFormProps {
  readonly isPending: boolean;
  readonly onAttempt: (work: () => Promise<boolean>) => void;
}

function PasswordForm({ isPending, onAttempt }: PasswordFormProps) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [needsCode, setNeedsCode] = useState(false);
  const withPassword = async () => {
    const body = { email, password, ...(needsCode && { code }) };
    const answer = await api.signIn.password({ body });
    if ("needs_code" in answer) {
      setNeedsCode(true);
      return false;
    }
    adoptSession(answer);
    return true;
  };
  return (
    <Form onSubmit={() => onAttempt(withPassword)}>
      <TextField label="Email" type="email" autocomplete="username" value={email} onInput={setEmail} required />
      <TextField
        label="Password"
        type="password"
        autocomplete="current-password"
        value={password}
        onInput={setPassword}
        required
      />
      {needsCode && (
        <TextField
          label="Code"
          hint="From your authenticator app, or a recovery code"
          autocomplete="one-time-code"
          value={code}
          onInput={setCode}
          required
        />
      )}
      <Button type="submit" pending={isPending}>
        Sign in with a password
      </Button>
    </Form>
  );
}

/** Returns the path that the reader wanted to open, from `?next=`. Another site or the sign-in page itself becomes `/`. */
function nextPage(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/";
  // Browsers read `//host` and `/\host` as another site.
  return /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in") ? next : "/";
}
