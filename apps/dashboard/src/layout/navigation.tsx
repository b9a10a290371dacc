import type { Membership } from "@bikeshare/contract/console";
import { Link, useLocation, useSearch } from "wouter-preact";
import { Icon } from "../components/icon.tsx";
import { Menu } from "../components/menu.tsx";
import { listedPages, pageAddress } from "../pages.ts";
import { useSignedIn } from "../session/session.ts";

/** The pages of the membership that is shown, and a way to the others. */
export function Navigation() {
  const { memberships } = useSignedIn();
  const [path] = useLocation();
  const current = currentMembership(memberships, path, useSearch());
  if (current === undefined) return <nav class="nav" aria-label="Pages" />;
  return (
    <nav class="nav" aria-label="Pages">
      {memberships.length > 1 ? (
        <Switcher memberships={memberships} current={current} />
      ) : (
        <p class="nav-heading">{membershipName(current)}</p>
      )}
      <ul>
        {listedPages(current).map((page) => {
          const address = pageAddress(page, current, memberships);
          return (
            <li key={page.path}>
              <Link href={address} className="nav-link" aria-current={isWithin(path, address) ? "page" : undefined}>
                {page.title}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

interface SwitcherProps {
  readonly memberships: readonly Membership[];
  readonly current: Membership;
}

function Switcher({ memberships, current }: SwitcherProps) {
  return (
    <Menu
      variant="secondary"
      label={`Shown: ${membershipName(current)}. Change`}
      button={
        <>
          <span class="nav-current">{membershipName(current)}</span>
          <Icon name="chevronDown" />
        </>
      }
    >
      {memberships.map((membership) => {
        const [first] = listedPages(membership);
        return (
          <Link
            key={`${membership.system_id} ${membership.partner_id}`}
            href={first === undefined ? "/" : pageAddress(first, membership, memberships)}
            aria-current={membership === current ? "true" : undefined}
          >
            {membershipName(membership)}
          </Link>
        );
      })}
    </Menu>
  );
}

/** Whose pages are shown: the address says it; pages of one's own go with the first membership. */
function currentMembership(memberships: readonly Membership[], path: string, search: string): Membership | undefined {
  const system = new URLSearchParams(search).get("system");
  const [, area, partner] = path.split("/");
  const partnerId = area === "partners" ? decodeURIComponent(partner ?? "") : undefined;
  const inSystem = memberships.filter(({ system_id }) => system === null || system_id === system);
  return (
    inSystem.find(({ partner_id }) => partnerId !== undefined && partner_id === partnerId) ??
    inSystem.find(({ partner_id }) => area !== undefined && area !== "account" && partner_id === null) ??
    memberships[0]
  );
}

function membershipName({ partner_name, system_name }: Membership): string {
  return partner_name ?? `${system_name}: operator`;
}

function isWithin(path: string, address: string): boolean {
  const [page = ""] = address.split("?", 1);
  return path === page || path.startsWith(`${page}/`);
}
