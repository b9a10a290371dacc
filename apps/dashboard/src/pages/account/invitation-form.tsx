import type { IssuedInvitation, MembershipRole } from "@bikeshare/contract/console";
import { MAX_MAIL_ADDRESS } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { useShownOnce } from "../../session/shown-once.ts";
import { useAction } from "../use-action.ts";
import type { PeopleApi } from "./people-api.ts";

interface InvitationFormProps {
  readonly people: Pick<PeopleApi, "invite">;
  readonly onInvited: () => Promise<void>;
}

const roles = [
  { value: "viewer", label: "Viewer: sees everything, changes nothing" },
  { value: "admin", label: "Admin: sees everything and changes it" },
];

/** Invites somebody, and shows the link if the service could not mail it. */
export function InvitationForm({ people, onInvited }: InvitationFormProps) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<MembershipRole>("viewer");
  // Has the secret link. It is forgotten when the session ends.
  const [issued, setIssued] = useShownOnce<IssuedInvitation>();
  const { run, isPending } = useAction();
  const invite = () =>
    run(async () => {
      setIssued(await people.invite(email, role));
      await onInvited();
    });
  if (issued !== undefined) return <Issued invitation={issued} />;
  return (
    <Form onSubmit={() => void invite()}>
      <TextField label="Email" type="email" value={email} onInput={setEmail} maxLength={MAX_MAIL_ADDRESS} required />
      <SelectField
        label="Role"
        value={role}
        choices={roles}
        onChange={(value) => setRole(value === "admin" ? "admin" : "viewer")}
      />
      <Button type="submit" variant="primary" pending={isPending}>
        Invite
      </Button>
    </Form>
  );
}

function Issued({ invitation }: { readonly invitation: IssuedInvitation }) {
  const { email, url, expires_at, proves_address } = invitation;
  if (url === null) {
    return (
      <Notice tone="success">
        The invitation was mailed to {email}. Its link works once, until <Time at={expires_at} />.
      </Notice>
    );
  }
  return (
    <>
      <Notice tone="warning">
        The service sends no mail: give this link to {email} yourself, and to nobody else. It works once, until{" "}
        <Time at={expires_at} />, and is shown only now.
        {!proves_address &&
          " You have seen it, so it does not prove the address: an account that exists already opens by signing in, or by a link of the operator."}
      </Notice>
      <p class="row">
        <code class="mono">{url}</code>
        <CopyButton text={url} label="Copy the link" />
      </p>
    </>
  );
}
