import type { Account } from "@bikeshare/contract/console";
import { api, queries } from "../../api/api.ts";
import { retryFailed, useQuery } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status } from "../../components/status.tsx";
import { Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useSignInOptions } from "../../session/branding.ts";
import { ProviderNotice } from "../../session/provider-notice.tsx";
import { useSignedIn } from "../../session/session.ts";
import { useAction } from "../use-action.ts";
import { AuthenticatorApp } from "./authenticator-app.tsx";
import { Identity } from "./identity.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Password } from "./password.tsx";
import "./account.css";

/** The page of the person's own account: their ways to sign in, and their sessions. */
export function AccountPage() {
  const { person } = useSignedIn();
  const own = useQuery({ queryKey: ["account"], queryFn: () => api.account.get() });
  const offered = useSignInOptions();
  if (own.data === undefined || offered.data === undefined) {
    const error = own.error ?? offered.error;
    return error === null ? (
      <Loading />
    ) : (
      <ErrorState isPage error={error} onRetry={() => void retryFailed(own, offered)} />
    );
  }
  const account = own.data;
  const { methods } = offered.data;
  const hasNothing = account.passkeys.length === 0 && !account.has_password && account.identity === null;
  return (
    <div class="stack">
      <PageHeader title="Account">
        {person.name}, {person.email}
      </PageHeader>
      {hasNothing && (
        <Notice tone="warning" title="Add a way to sign in" actions={<ButtonLink href="/">To the overview</ButtonLink>}>
          The link that brought you here works once. Add a passkey now, or set a password: within ten minutes of signing
          in you need no further proof.
        </Notice>
      )}
      <ProviderNotice />
      {methods.provider !== null && <Identity account={account} provider={methods.provider} />}
      <Passkeys account={account} />
      {(methods.password || account.has_password) && <Password account={account} isPossible={methods.password} />}
      {account.has_password && <AuthenticatorApp account={account} />}
      <Sessions account={account} />
    </div>
  );
}

type SessionRow = Account["sessions"][number];

/** The browsers in which the person is signed in. */
function Sessions({ account }: { readonly account: Account }) {
  const { run, isPending } = useAction();
  const end = (session: SessionRow) =>
    run(async () => {
      queries.setQueryData(["account"], await api.account.endSession({ params: { id: session.id } }));
      showToast("success", "Browser signed out.");
    });
  const endOthers = () =>
    run(async () => {
      queries.setQueryData(["account"], await api.account.endOtherSessions());
      showToast("success", "All other browsers are signed out.");
    });
  return (
    <section class="stack" aria-labelledby="sessions">
      <div class="row">
        <h2 id="sessions">Active sessions</h2>
        {account.sessions.length > 1 && (
          <Button pending={isPending} onClick={() => void endOthers()}>
            Sign out everywhere else
          </Button>
        )}
      </div>
      <Table
        caption="Active sessions"
        rows={account.sessions}
        rowKey={({ id }) => id}
        empty={null}
        columns={[
          { id: "browser", title: "Browser", cell: ({ user_agent }) => browserName(user_agent) },
          { id: "address", title: "Address", cell: ({ address }) => <code class="mono">{address}</code> },
          { id: "begun", title: "Signed in", isSecondary: true, cell: ({ created_at }) => <Time at={created_at} /> },
          { id: "used", title: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} show="relative" /> },
          {
            id: "end",
            title: "",
            align: "end",
            cell: (session) =>
              session.is_current ? (
                <Status tone="success">this one</Status>
              ) : (
                <Button variant="quiet" pending={isPending} onClick={() => void end(session)}>
                  Sign out
                </Button>
              ),
          },
        ]}
      />
    </section>
  );
}

/** Returns the recognisable part of a User-Agent: `Firefox on Linux`. */
function browserName(userAgent: string): string {
  // Each list is in this order, because browsers and systems also name those after them: Edge names Chrome and Safari.
  const browser = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].find((name) => userAgent.includes(`${name}/`));
  const system = ["Android", "iPhone", "iPad", "Mac OS", "Windows", "Linux"].find((name) => userAgent.includes(name));
  const names: Readonly<Record<string, string>> = { Edg: "Edge", OPR: "Opera", "Mac OS": "macOS" };
  const parts = [browser, system].map((part) => (part === undefined ? undefined : (names[part] ?? part)));
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? userAgent.slice(0, 60) || "unknown" : known.join(" on ");
}
