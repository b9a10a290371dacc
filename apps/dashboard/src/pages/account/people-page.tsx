import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import { queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useOperatorAccess, usePartnerAccess, useSignedIn } from "../../session/session.ts";
import { InvitationForm } from "./invitation-form.tsx";
import { operatorPeople, partnerPeople, type PeopleApi } from "./people-api.ts";
import { InvitationTable, MemberTable } from "./people-tables.tsx";

/** The page of a partner's people. */
export function PartnerPeoplePage() {
  const access = usePartnerAccess();
  if (access === undefined) return <NoAccess />;
  const { systemId, partnerId, canChange } = access;
  return (
    <People people={partnerPeople(systemId, partnerId)} whose={`${systemId} ${partnerId}`} canChange={canChange} />
  );
}

/** The operator's page of people: their own, or with `?partner=` those of a partner. */
export function OperatorPeoplePage() {
  const access = useOperatorAccess();
  const partnerId = new URLSearchParams(useSearch()).get("partner");
  if (access === undefined) return <NoAccess />;
  const { systemId, canChange } = access;
  const whose = `${systemId} ${partnerId ?? ""}`;
  return <People people={operatorPeople(systemId, partnerId)} whose={whose} canChange={canChange} />;
}

function NoAccess() {
  return <EmptyState title="Not found">You are not a member of this partner, or of its operator.</EmptyState>;
}

interface PeopleProps {
  readonly people: PeopleApi;
  /** Part of the cache key, so that the lists of different owners are kept apart. */
  readonly whose: string;
  readonly canChange: boolean;
}

function People({ people, whose, canChange }: PeopleProps) {
  const { person } = useSignedIn();
  const [isInviting, setIsInviting] = useState(false);
  const queryKey = ["people", whose];
  const { data, error, refetch } = useQuery({ queryKey, queryFn: () => people.list() });
  const reload = () => queries.invalidateQueries({ queryKey });
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  return (
    <div class="stack">
      <PageHeader
        title="People"
        actions={
          canChange && (
            <Button variant="primary" onClick={() => setIsInviting(true)}>
              Invite a person
            </Button>
          )
        }
      >
        Admins can change everything; viewers can only read.
      </PageHeader>
      {!canChange && <Notice tone="info">Read-only: only admins can change this.</Notice>}
      <MemberTable
        members={data.members}
        ownPersonId={person.id}
        people={canChange ? people : undefined}
        onChanged={reload}
      />
      {data.invitations.length > 0 && (
        <InvitationTable invitations={data.invitations} people={canChange ? people : undefined} onChanged={reload} />
      )}
      <Dialog title="Invite a person" isOpen={isInviting} onClose={() => setIsInviting(false)}>
        <InvitationForm people={people} onInvited={reload} />
      </Dialog>
    </div>
  );
}
