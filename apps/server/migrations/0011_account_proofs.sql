-- oldest program: 0.1.0
-- step: transaction
-- How whoever holds the account proved that its address is theirs: by a link that was mailed there (`mail`), by an identity
-- whose address the provider had verified (`identity`), or by a link that the operator handed out (`operator`). Null: not at
-- all. An account without proof has no rights of the operator, and the first proof takes it over.
alter table people add column proof text;
-- Of the proof `operator`: the system whose operator vouches for the person; null: the whole deployment, at its command line.
alter table people add column proof_system_id text collate "C";
-- What opening the link proves: `mail` or `operator`, as above. Null: nothing, because a partner's admin was shown the link.
alter table invitations add column proves text;

-- Of the accounts before, those are proved that an identity with their own address signs in to, and those that began as the
-- operator's and never joined a partner: only the operator and the command line could hand out such a link. Of any other
-- account nobody knows who holds it.
update people p set proof = 'identity'
where exists (select 1 from identities i where i.person_id = p.id and i.email = p.email);
update people p set proof = 'operator', proof_system_id = i.system_id
from invitations i
where p.proof is null and i.email = p.email and i.partner_id is null and i.accepted_at = p.created_at
  and not exists (select 1 from invitations j where j.email = p.email and j.partner_id is not null and j.accepted_at > p.created_at);
delete from sessions s using people p where p.id = s.person_id and p.proof is null;
-- An open invitation into the operator's people, or of the command line, was shown to nobody but the operator.
update invitations set proves = 'operator'
where accepted_at is null and (partner_id is null or created_by like 'cli:%');
create index invitations_email on invitations (system_id, email);
create index invitations_maker on invitations (system_id, created_by);
