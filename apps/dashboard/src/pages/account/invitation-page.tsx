import { MAX_PERSON_NAME } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { useSignInOptions } from "../../session/branding.ts";
import { ProviderNotice } from "../../session/provider-notice.tsx";
import { ProviderButton } from "../../session/provider.tsx";
import { adoptSession } from "../../session/session.ts";
import "./account.css";

/**
 * The key under which the link's token is stored while its reader signs in. Session storage: the token is only in this tab,
 * and is gone when the tab is closed.
 */
const TOKEN_KEY = "invitation";

/** Returns the link's token, and removes it from the address so that the browser's history does not keep it. */
function takeToken(): string {
  const token = location.hash.slice(1);
  if (token !== "") {
    sessionStorage.setItem(TOKEN_KEY, token);
    history.replaceState(history.state, "", location.pathname);
  }
  return sessionStorage.getItem(TOKEN_KEY) ?? "";
}

/** The page of an invitation link. It says what the invitation is for, and accepts it. */
export function InvitationPage() {
  const [token] = useState(takeToken);
  const invitation = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => api.invitations.read({ body: { token } }),
    retry: false,
  });
  if (invitation.data === undefined) {
    const { error, refetch } = invitation;
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  }
  const { email, system_name, partner_name, role, expires_at, needs_sign_in, proves_address } = invitation.data;
  return (
    <div class="narrow">
      <h1>{partner_name === null ? `Run ${system_name}` : `Join ${partner_name}`}</h1>
      <p>
        You are invited as {role === "admin" ? "an admin" : "a viewer"} of{" "}
        {partner_name === null ? `the operator of ${system_name}` : `${partner_name}, a partner of ${system_name}`}.{" "}
        {role === "admin" ? "Admins see everything and change it." : "Viewers see everything and change nothing."}
      </p>
      <p class="muted">
        For {email}, until <Time at={expires_at} />
      </p>
      <ProviderNotice />
      <AcceptForm token={token} needsSignIn={needs_sign_in} provesAddress={proves_address} email={email} />
    </div>
  );
}

interface AcceptFormProps {
  readonly token: string;
  readonly email: string;
  /** Whether the invited address has an account. */
  readonly needsSignIn: boolean;
  /**
   * Whether opening the link proves that the reader has the invited address. False if a partner's admin has seen the
   * link.
   */
  readonly provesAddress: boolean;
}

/** Accepts the invitation. Asks for a sign-in first if the address has an account. */
function AcceptForm({ token, email, needsSignIn, provesAddress }: AcceptFormProps) {
  const [name, setName] = useState("");
  // The request fails if nobody is signed in. `data` then stays undefined.
  const session = useQuery({ queryKey: ["invitation-session"], queryFn: () => api.session.get(), retry: false });
  const options = useSignInOptions();
  const methods = options.data?.methods;
  // Whether the reader is signed in with the invited address. Then neither a sign-in nor a name is needed.
  const isOwn = session.data?.person.email === email;
  const { accept, error, isPending } = useAccept(token, isOwn);
  if (options.error !== null) return <ErrorState error={options.error} onRetry={() => void options.refetch()} />;
  if (session.isPending || methods === undefined) return <Loading />;
  const begin = () => api.signIn.beginAtProvider({ body: { invitation_token: token } });
  const canUseProvider = !isOwn && methods.provider !== null;
  const providerButton = canUseProvider ? <ProviderButton variant="primary" begin={begin} /> : null;
  // The identity provider may be the only way to sign in.
  if (!isOwn && !methods.passkey && !methods.password) return providerButton;
  if (needsSignIn && !isOwn) {
    return (
      <>
        <Notice tone="info" actions={<ButtonLink href="/sign-in?next=/invitation">Sign in</ButtonLink>}>
          An account with this address exists. Sign in, then accept.
          {!provesAddress &&
            " If you never made one, ask the operator of this service for an invitation: its link opens the account."}
        </Notice>
        {providerButton}
      </>
    );
  }
  return (
    <>
      {providerButton}
      {canUseProvider && <p class="or">or</p>}
      <Form onSubmit={() => void accept(name.trim())}>
        {error !== undefined && <Notice tone="danger">{error}</Notice>}
        {!isOwn && <NameField name={name} onInput={setName} />}
        <Button type="submit" variant={canUseProvider ? "secondary" : "primary"} pending={isPending}>
          Accept
        </Button>
      </Form>
    </>
  );
}

/**
 * Returns a function that accepts the invitation, and its state. A reader who is signed in with the invited address then
 * continues on the first page.
 */
function useAccept(token: string, isOwn: boolean) {
  const [, navigate] = useLocation();
  const [error, setError] = useState<string>();
  const [isPending, setIsPending] = useState(false);
  const accept = async (name: string) => {
    setIsPending(true);
    setError(undefined);
    try {
      const accepted = await api.invitations.accept({ body: { token, ...(name !== "" && { name }) } });
      sessionStorage.removeItem(TOKEN_KEY);
      // What was read before the acceptance may belong to another person, or lack the new membership.
      queries.clear();
      adoptSession(accepted);
      // Without `isOwn`, the reader continues on the page of the account, to add a way to sign in.
      if (accepted.credentials_removed) navigate("/account?notice=credentials_removed", { replace: true });
      else navigate(isOwn ? "/" : "/account", { replace: true });
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    } finally {
      setIsPending(false);
    }
  };
  return { accept, error, isPending };
}

function NameField({ name, onInput }: { readonly name: string; readonly onInput: (name: string) => void }) {
  return (
    <TextField
      label="Your name"
      hint="Shown to your team in the audit log"
      autocomplete="name"
      maxLength={MAX_PERSON_NAME}
      value={name}
      onInput={onInput}
    />
  );
}
