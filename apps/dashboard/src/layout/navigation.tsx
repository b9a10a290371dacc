import type { Membership } from "@bikeshare/contract/console";
import { Link, useLocation } from "wouter-preact";
import { Icon } from "../components/icon.tsx";
import { Menu } from "../components/menu.tsx";
import { listedPages, membershipName, pageAddress } from "../membership-pages.ts";
import { navigationGroups, type Page } from "../page.ts";
import { PaletteButton } from "../palette/palette-button.tsx";
import { useCurrentMembership, useSignedIn } from "../session/session.ts";
import { useAttention } from "./attention.ts";
import { DocsLink } from "./docs-link.tsx";

/**
 * The navigation: the pages of the current membership, and a menu of the other memberships. A membership is a person's role
 * in one system, for a partner or for the operator.
 */
export function Navigation({ onPalette }: { readonly onPalette: () => void }) {
  const { memberships } = useSignedIn();
  const current = useCurrentMembership();
  if (current === undefined) return <nav class="nav" aria-label="Pages" />;
  const listed = listedPages(current);
  return (
    <nav class="nav" aria-label="Pages">
      {memberships.length > 1 ? (
        <Switcher memberships={memberships} current={current} />
      ) : (
        <p class="nav-heading">{membershipName(current)}</p>
      )}
      <PaletteButton onOpen={onPalette} />
      {/* A partner's pages have no group. */}
      {[undefined, ...navigationGroups].map((group) => (
        <Group key={group} title={group} pages={listed.filter((page) => page.group === group)} current={current} />
      ))}
      <ul class="nav-group">
        <li>
          <DocsLink />
        </li>
      </ul>
    </nav>
  );
}

interface GroupProps {
  /** The heading. Undefined: the group has none. */
  readonly title: string | undefined;
  readonly pages: readonly Page[];
  readonly current: Membership;
}

function Group({ title, pages, current }: GroupProps) {
  const { memberships } = useSignedIn();
  const [path] = useLocation();
  const attention = useAttention(current);
  if (pages.length === 0) return null;
  return (
    <div class="nav-group">
      {title !== undefined && <p class="nav-heading">{title}</p>}
      <ul>
        {pages.map((page) => {
          const address = pageAddress(page, current, memberships);
          // Problems are counted by the last part of a page's path, such as `endpoints`.
          const count = attention.get(page.path.slice(page.path.lastIndexOf("/") + 1)) ?? 0;
          return (
            <li key={page.path}>
              <Link href={address} className="nav-link" aria-current={isWithin(path, address) ? "page" : undefined}>
                {page.icon !== undefined && <Icon name={page.icon} />}
                {page.title}
                {count > 0 && (
                  <span class="nav-count" title={`${count} to look at`}>
                    {count}
                    <span class="visually-hidden"> to look at</span>
                  </span>
                )}
              </Link>
            </li>
          );
        })}
      </ul>
    </div>
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

/** Tells whether the open page is the one at this address, or below it, such as `/operator/rides/<id>`. */
function isWithin(path: string, address: string): boolean {
  const [page = ""] = address.split("?", 1);
  return path === page || path.startsWith(`${page}/`);
}
