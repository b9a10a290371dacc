import type { MemberList } from "@bikeshare/contract/console";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Icon } from "../../components/icon.tsx";
import { Menu, MenuItem } from "../../components/menu.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";
import type { PeopleApi } from "./people-api.ts";

type Member = MemberList["members"][number];
type Invitation = MemberList["invitations"][number];

interface MemberTableProps {
  readonly members: readonly Member[];
  readonly ownPersonId: string;
  /** Undefined: the reader may not change anything. */
  readonly people: PeopleApi | undefined;
  readonly onChanged: () => Promise<void>;
}

/** The members and their roles. */
export function MemberTable({ members, ownPersonId, people, onChanged }: MemberTableProps) {
  const actions = people && {
    id: "actions",
    title: "",
    align: "end" as const,
    cell: (member: Member) => <MemberMenu member={member} people={people} onChanged={onChanged} />,
  };
  const columns: readonly Column<Member>[] = [
    { id: "name", title: "Name", cell: ({ name, person_id }) => (person_id === ownPersonId ? `${name} (you)` : name) },
    { id: "email", title: "Email", cell: ({ email }) => email },
    { id: "role", title: "Role", cell: ({ role }) => role },
    { id: "joined", title: "Joined", isSecondary: true, cell: ({ joined_at }) => <Time at={joined_at} /> },
    {
      id: "seen",
      title: "Last seen",
      isSecondary: true,
      cell: ({ last_used_at }) => <Time at={last_used_at} show="relative" none="not signed in" />,
    },
    ...(actions === undefined ? [] : [actions]),
  ];
  return (
    <Table
      caption="Members"
      rows={members}
      rowKey={({ id }) => id}
      columns={columns}
      empty={<EmptyState title="Nobody yet">Invite a person with a link.</EmptyState>}
    />
  );
}

interface MemberMenuProps {
  readonly member: Member;
  readonly people: PeopleApi;
  readonly onChanged: () => Promise<void>;
}

function MemberMenu({ member: { id, name, role }, people, onChanged }: MemberMenuProps) {
  const { run } = useAction();
  const change = (work: () => Promise<unknown>, text: string) =>
    run(async () => {
      await work();
      showToast("success", text);
      await onChanged();
    });
  const [other, asOther] = role === "admin" ? (["viewer", "a viewer"] as const) : (["admin", "an admin"] as const);
  return (
    <Menu button={<Icon name="more" />} label={`Change ${name}`}>
      <MenuItem onSelect={() => void change(() => people.changeRole(id, other), `${name} is ${asOther} now.`)}>
        Make {asOther}
      </MenuItem>
      <MenuItem isDangerous onSelect={() => void change(() => people.remove(id), `${name} has no access any more.`)}>
        Remove
      </MenuItem>
    </Menu>
  );
}

interface InvitationTableProps {
  readonly invitations: readonly Invitation[];
  /** Undefined: the reader may not change anything. */
  readonly people: PeopleApi | undefined;
  readonly onChanged: () => Promise<void>;
}

/** The invitations that are not accepted yet. */
export function InvitationTable({ invitations, people, onChanged }: InvitationTableProps) {
  const { run, isPending } = useAction();
  const revoke = ({ id, email }: Invitation) =>
    run(async () => {
      await people?.revokeInvitation(id);
      showToast("success", `The invitation of ${email} works no more.`);
      await onChanged();
    });
  const columns: readonly Column<Invitation>[] = [
    { id: "email", title: "Email", cell: ({ email }) => email },
    { id: "role", title: "Role", cell: ({ role }) => role },
    { id: "expires", title: "Until", cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      id: "revoke",
      title: "",
      align: "end",
      cell: (invitation) =>
        people !== undefined && (
          <Button variant="quiet" pending={isPending} onClick={() => void revoke(invitation)}>
            Revoke
          </Button>
        ),
    },
  ];
  return (
    <section class="stack" aria-labelledby="invitations">
      <h2 id="invitations">Open invitations</h2>
      <Table caption="Open invitations" rows={invitations} rowKey={({ id }) => id} columns={columns} empty={null} />
    </section>
  );
}
