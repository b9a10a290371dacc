import type { IssuedInvitation, MemberList, MembershipRole } from "@bikeshare/contract/console";
import { api } from "../../api/api.ts";

/** The calls that read and manage the members of a partner or of the operator. */
export interface PeopleApi {
  readonly list: () => Promise<MemberList>;
  readonly invite: (email: string, role: MembershipRole) => Promise<IssuedInvitation>;
  readonly revokeInvitation: (id: string) => Promise<unknown>;
  readonly changeRole: (id: string, role: MembershipRole) => Promise<unknown>;
  readonly remove: (id: string) => Promise<unknown>;
}

/** Returns the calls of a partner's own pages. All who read the pages may list; the partner's admins may also change. */
export function partnerPeople(systemId: string, partnerId: string): PeopleApi {
  const params = { system_id: systemId, partner_id: partnerId };
  return {
    list: () => api.partnerPeople.list({ params }),
    invite: (email, role) => api.partnerPeople.invite({ params, body: { email, role } }),
    revokeInvitation: (id) => api.partnerPeople.revokeInvitation({ params: { ...params, id } }),
    changeRole: (id, role) => api.partnerPeople.changeRole({ params: { ...params, id }, body: { role } }),
    remove: (id) => api.partnerPeople.remove({ params: { ...params, id } }),
  };
}

/** Returns the calls for the operator, who manages their own people (`partnerId` null) or those of a partner. */
export function operatorPeople(systemId: string, partnerId: string | null): PeopleApi {
  const params = { system_id: systemId };
  return {
    list: () => api.operatorPeople.list({ params, query: partnerId === null ? {} : { partner_id: partnerId } }),
    invite: (email, role) => api.operatorPeople.invite({ params, body: { email, role, partner_id: partnerId } }),
    revokeInvitation: (id) => api.operatorPeople.revokeInvitation({ params: { ...params, id } }),
    changeRole: (id, role) => api.operatorPeople.changeRole({ params: { ...params, id }, body: { role } }),
    remove: (id) => api.operatorPeople.remove({ params: { ...params, id } }),
  };
}
