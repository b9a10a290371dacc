/** The pages for the operator alone: partners, the fleet, its sources, and the system itself. */
import { importId, type Page } from "./page.ts";

/** In the order of the navigation. */
export const operatorPages: readonly Page[] = [
  {
    path: "/operator/partners",
    title: "Partners",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/operator/partners-page.tsx")).PartnersPage,
  },
  {
    path: "/operator/partners/:partner_id",
    title: "Partner",
    audience: "operator",
    load: async () => (await import("./pages/operator/partner-page.tsx")).PartnerPage,
  },
  {
    path: "/operator/stations/:id",
    title: "Station",
    audience: "operator",
    load: async () => (await import("./pages/operator/fleet-item-pages.tsx")).StationPage,
  },
  {
    path: "/operator/bikes",
    title: "Bikes",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/operator/fleet-pages.tsx")).BikesPage,
  },
  {
    path: "/operator/bikes/:id",
    title: "Bike",
    audience: "operator",
    load: async () => (await import("./pages/operator/fleet-item-pages.tsx")).BikePage,
  },
  {
    path: "/operator/rides",
    title: "Rides",
    audience: "operator",
    isListed: true,
    views: [{ title: "Rides under way", words: "started", query: { status: "started" } }],
    load: async () => (await import("./pages/operator/fleet-pages.tsx")).RidesPage,
  },
  {
    path: "/operator/rides/:id",
    title: "Ride",
    audience: "operator",
    load: async () => (await import("./pages/operator/fleet-item-pages.tsx")).RidePage,
  },
  {
    path: "/operator/reservations/:id",
    title: "Reservation",
    audience: "operator",
    load: async () => (await import("./pages/operator/reservation-page.tsx")).ReservationPage,
  },
  {
    path: "/operator/alerts",
    title: "Alerts",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/operator/alerts-page.tsx")).AlertsPage,
  },
  {
    path: "/operator/imports",
    title: "Imports",
    audience: "operator",
    isListed: true,
    finds: [importId],
    load: async () => (await import("./pages/operator/imports-page.tsx")).ImportsPage,
  },
  {
    path: "/operator/imports/:id",
    title: "Import",
    audience: "operator",
    load: async () => (await import("./pages/operator/import-page.tsx")).ImportPage,
  },
  {
    path: "/operator/feeds",
    title: "Feeds",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/operator/feeds-page.tsx")).FeedsPage,
  },
  {
    path: "/operator/feed-quality",
    title: "Feed quality",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/operator/feed-quality-page.tsx")).FeedQualityPage,
  },
  {
    path: "/operator/systems",
    title: "System",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/operator/system-page.tsx")).SystemPage,
  },
  {
    path: "/operator/audit",
    title: "Audit log",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/audit/audit-page.tsx")).OperatorAuditPage,
  },
];
