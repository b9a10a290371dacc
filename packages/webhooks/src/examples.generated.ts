// An example of each delivery.
// Made from packages/contract by `pnpm --filter @bikeshare/webhooks run generate`. Do not edit here.
import type { DeliveryOf } from "./verify.ts";
import type { KnownDelivery } from "./json-types.generated.ts";

export const exampleDeliveries: { readonly [Name in KnownDelivery["event"]]: DeliveryOf<Name> } = {
  "ride.started": {
    "event": "ride.started",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:02:11.390Z",
    "sent_at": "2026-03-14T08:02:11.510Z",
    "data": {
      "id": "ride_01JP9V6QK8N3",
      "bike_id": "bike_4711",
      "status": "started",
      "start_station_id": "JC105",
      "end_station_id": null,
      "started_at": "2026-03-14T08:02:11.000Z",
      "ended_at": null,
      "duration_seconds": null,
      "distance_meters": null,
      "vehicle_type_id": "electric",
      "rider_category": "member",
      "end_reason": null,
      "is_countable": null,
      "updated_at": "2026-03-14T08:02:11.390Z"
    }
  },
  "ride.completed": {
    "event": "ride.completed",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:20:26.804Z",
    "sent_at": "2026-03-14T08:20:26.924Z",
    "data": {
      "id": "ride_01JP9V6QK8N3",
      "bike_id": "bike_4711",
      "status": "completed",
      "start_station_id": "JC105",
      "end_station_id": "HB103",
      "started_at": "2026-03-14T08:02:11.000Z",
      "ended_at": "2026-03-14T08:20:26.000Z",
      "duration_seconds": 1095,
      "distance_meters": 3120,
      "vehicle_type_id": "electric",
      "rider_category": "member",
      "end_reason": "returned",
      "is_countable": true,
      "updated_at": "2026-03-14T08:20:26.804Z"
    }
  },
  "ride.cancelled": {
    "event": "ride.cancelled",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:02:31.207Z",
    "sent_at": "2026-03-14T08:02:31.327Z",
    "data": {
      "id": "ride_01JP9V6QK8N3",
      "bike_id": "bike_4711",
      "status": "cancelled",
      "start_station_id": "JC105",
      "end_station_id": "JC105",
      "started_at": "2026-03-14T08:02:11.000Z",
      "ended_at": "2026-03-14T08:02:31.000Z",
      "duration_seconds": 20,
      "distance_meters": 0,
      "vehicle_type_id": "electric",
      "rider_category": "member",
      "end_reason": "cancelled",
      "is_countable": false,
      "updated_at": "2026-03-14T08:02:31.207Z"
    }
  },
  "ride.corrected": {
    "event": "ride.corrected",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T09:05:12.031Z",
    "sent_at": "2026-03-14T09:05:12.151Z",
    "data": {
      "id": "ride_01JP9V6QK8N3",
      "bike_id": "bike_4711",
      "status": "completed",
      "start_station_id": "JC105",
      "end_station_id": "HB103",
      "started_at": "2026-03-14T08:02:11.000Z",
      "ended_at": "2026-03-14T08:20:26.000Z",
      "duration_seconds": 1095,
      "distance_meters": 3340,
      "vehicle_type_id": "electric",
      "rider_category": "member",
      "end_reason": "returned",
      "is_countable": true,
      "updated_at": "2026-03-14T09:05:12.031Z"
    }
  },
  "station.offline": {
    "event": "station.offline",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:21:43.512Z",
    "sent_at": "2026-03-14T08:21:43.632Z",
    "data": {
      "id": "JC105",
      "name": "City Hall",
      "short_name": "JC105",
      "lat": 40.7177325,
      "lon": -74.043845,
      "address": null,
      "region_id": "70",
      "capacity": 26,
      "is_virtual_station": false,
      "is_installed": true,
      "is_renting": false,
      "is_returning": false,
      "num_bikes_available": 11,
      "num_bikes_reserved": 1,
      "num_bikes_disabled": 2,
      "num_docks_available": 12,
      "num_docks_disabled": 0,
      "vehicle_types_available": [
        {
          "vehicle_type_id": "classic",
          "count": 8
        },
        {
          "vehicle_type_id": "electric",
          "count": 3
        }
      ],
      "status": "offline",
      "offline_reason": "operator",
      "last_reported": "2026-03-14T08:21:40.000Z",
      "updated_at": "2026-03-14T08:21:43.512Z"
    }
  },
  "station.online": {
    "event": "station.online",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:21:43.512Z",
    "sent_at": "2026-03-14T08:21:43.632Z",
    "data": {
      "id": "JC105",
      "name": "City Hall",
      "short_name": "JC105",
      "lat": 40.7177325,
      "lon": -74.043845,
      "address": null,
      "region_id": "70",
      "capacity": 26,
      "is_virtual_station": false,
      "is_installed": true,
      "is_renting": true,
      "is_returning": true,
      "num_bikes_available": 11,
      "num_bikes_reserved": 1,
      "num_bikes_disabled": 2,
      "num_docks_available": 12,
      "num_docks_disabled": 0,
      "vehicle_types_available": [
        {
          "vehicle_type_id": "classic",
          "count": 8
        },
        {
          "vehicle_type_id": "electric",
          "count": 3
        }
      ],
      "status": "online",
      "offline_reason": null,
      "last_reported": "2026-03-14T08:21:40.000Z",
      "updated_at": "2026-03-14T08:21:43.512Z"
    }
  },
  "reservation.created": {
    "event": "reservation.created",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:21:43.512Z",
    "sent_at": "2026-03-14T08:21:43.632Z",
    "data": {
      "id": "reservation_0VbeTqWcA3kLx9mPz2RsYd",
      "status": "active",
      "station_id": "JC105",
      "bike_id": "bike_1138",
      "vehicle_type_id": "electric",
      "rider_ref": "r-82f1",
      "created_at": "2026-03-14T08:21:43.512Z",
      "expires_at": "2026-03-14T08:36:43.512Z",
      "cancelled_at": null,
      "cancel_reason": null,
      "ride_id": null,
      "ride_cancelled_at": null,
      "updated_at": "2026-03-14T08:21:43.512Z"
    }
  },
  "reservation.cancelled": {
    "event": "reservation.cancelled",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:25:02.118Z",
    "sent_at": "2026-03-14T08:25:02.238Z",
    "data": {
      "id": "reservation_0VbeTqWcA3kLx9mPz2RsYd",
      "status": "cancelled",
      "station_id": "JC105",
      "bike_id": "bike_1138",
      "vehicle_type_id": "electric",
      "rider_ref": "r-82f1",
      "created_at": "2026-03-14T08:21:43.512Z",
      "expires_at": "2026-03-14T08:36:43.512Z",
      "cancelled_at": "2026-03-14T08:25:02.118Z",
      "cancel_reason": "partner",
      "ride_id": null,
      "ride_cancelled_at": null,
      "updated_at": "2026-03-14T08:25:02.118Z"
    }
  },
  "reservation.expired": {
    "event": "reservation.expired",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:36:43.512Z",
    "sent_at": "2026-03-14T08:36:43.632Z",
    "data": {
      "id": "reservation_0VbeTqWcA3kLx9mPz2RsYd",
      "status": "expired",
      "station_id": "JC105",
      "bike_id": "bike_1138",
      "vehicle_type_id": "electric",
      "rider_ref": "r-82f1",
      "created_at": "2026-03-14T08:21:43.512Z",
      "expires_at": "2026-03-14T08:36:43.512Z",
      "cancelled_at": null,
      "cancel_reason": null,
      "ride_id": null,
      "ride_cancelled_at": null,
      "updated_at": "2026-03-14T08:36:43.512Z"
    }
  },
  "reservation.fulfilled": {
    "event": "reservation.fulfilled",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:29:51.640Z",
    "sent_at": "2026-03-14T08:29:51.760Z",
    "data": {
      "id": "reservation_0VbeTqWcA3kLx9mPz2RsYd",
      "status": "fulfilled",
      "station_id": "JC105",
      "bike_id": "bike_1138",
      "vehicle_type_id": "electric",
      "rider_ref": "r-82f1",
      "created_at": "2026-03-14T08:21:43.512Z",
      "expires_at": "2026-03-14T08:36:43.512Z",
      "cancelled_at": null,
      "cancel_reason": null,
      "ride_id": "ride_01JP9W8R2T4V",
      "ride_cancelled_at": null,
      "updated_at": "2026-03-14T08:29:51.640Z"
    }
  },
  "alert.opened": {
    "event": "alert.opened",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:21:43.512Z",
    "sent_at": "2026-03-14T08:21:43.632Z",
    "data": {
      "id": "works-2026-14",
      "type": "station_closure",
      "summary": "City Hall is closed until Friday",
      "description": "The square is being paved. The nearest station is at the ferry.",
      "url": "https://bikes.example/works/city-hall",
      "times": [
        {
          "start": "2026-03-16T06:00:00.000Z",
          "end": "2026-03-20T18:00:00.000Z"
        }
      ],
      "station_ids": [
        "JC105"
      ],
      "region_ids": [],
      "opened_at": "2026-03-14T08:21:43.512Z",
      "ended_at": null,
      "updated_at": "2026-03-14T08:21:43.512Z"
    }
  },
  "alert.ended": {
    "event": "alert.ended",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-20T18:00:00.000Z",
    "sent_at": "2026-03-20T18:00:00.120Z",
    "data": {
      "id": "works-2026-14",
      "type": "station_closure",
      "summary": "City Hall is closed until Friday",
      "description": "The square is being paved. The nearest station is at the ferry.",
      "url": "https://bikes.example/works/city-hall",
      "times": [
        {
          "start": "2026-03-16T06:00:00.000Z",
          "end": "2026-03-20T18:00:00.000Z"
        }
      ],
      "station_ids": [
        "JC105"
      ],
      "region_ids": [],
      "opened_at": "2026-03-14T08:21:43.512Z",
      "ended_at": "2026-03-20T18:00:00.000Z",
      "updated_at": "2026-03-20T18:00:00.000Z"
    }
  },
  "station.below_threshold": {
    "event": "station.below_threshold",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:21:43.512Z",
    "sent_at": "2026-03-14T08:21:43.632Z",
    "data": {
      "id": "JC105",
      "name": "City Hall",
      "short_name": "JC105",
      "lat": 40.7177325,
      "lon": -74.043845,
      "address": null,
      "region_id": "70",
      "capacity": 26,
      "is_virtual_station": false,
      "is_installed": true,
      "is_renting": true,
      "is_returning": true,
      "num_bikes_available": 0,
      "num_bikes_reserved": 1,
      "num_bikes_disabled": 2,
      "num_docks_available": 12,
      "num_docks_disabled": 0,
      "vehicle_types_available": [],
      "status": "online",
      "offline_reason": null,
      "last_reported": "2026-03-14T08:21:40.000Z",
      "updated_at": "2026-03-14T08:21:43.512Z",
      "threshold": {
        "count": "bikes",
        "fewer_than": 1,
        "for_minutes": 10,
        "below_since": "2026-03-14T08:10:26.804Z"
      }
    }
  },
  "station.back_to_normal": {
    "event": "station.back_to_normal",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:21:43.512Z",
    "sent_at": "2026-03-14T08:21:43.632Z",
    "data": {
      "id": "JC105",
      "name": "City Hall",
      "short_name": "JC105",
      "lat": 40.7177325,
      "lon": -74.043845,
      "address": null,
      "region_id": "70",
      "capacity": 26,
      "is_virtual_station": false,
      "is_installed": true,
      "is_renting": true,
      "is_returning": true,
      "num_bikes_available": 11,
      "num_bikes_reserved": 1,
      "num_bikes_disabled": 2,
      "num_docks_available": 12,
      "num_docks_disabled": 0,
      "vehicle_types_available": [
        {
          "vehicle_type_id": "classic",
          "count": 8
        },
        {
          "vehicle_type_id": "electric",
          "count": 3
        }
      ],
      "status": "online",
      "offline_reason": null,
      "last_reported": "2026-03-14T08:21:40.000Z",
      "updated_at": "2026-03-14T08:21:43.512Z",
      "threshold": {
        "count": "bikes",
        "fewer_than": 1,
        "for_minutes": 10,
        "below_since": "2026-03-14T08:10:26.804Z"
      }
    }
  },
  "station.updated": {
    "event": "station.updated",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:21:43.512Z",
    "sent_at": "2026-03-14T08:21:43.632Z",
    "data": {
      "id": "JC105",
      "name": "City Hall",
      "short_name": "JC105",
      "lat": 40.7177325,
      "lon": -74.043845,
      "address": null,
      "region_id": "70",
      "capacity": 26,
      "is_virtual_station": false,
      "is_installed": true,
      "is_renting": true,
      "is_returning": true,
      "num_bikes_available": 11,
      "num_bikes_reserved": 1,
      "num_bikes_disabled": 2,
      "num_docks_available": 12,
      "num_docks_disabled": 0,
      "vehicle_types_available": [
        {
          "vehicle_type_id": "classic",
          "count": 8
        },
        {
          "vehicle_type_id": "electric",
          "count": 3
        }
      ],
      "status": "online",
      "offline_reason": null,
      "last_reported": "2026-03-14T08:21:40.000Z",
      "updated_at": "2026-03-14T08:21:43.512Z"
    }
  },
  "bike.state_changed": {
    "event": "bike.state_changed",
    "delivery_id": "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    "occurred_at": "2026-03-14T08:20:26.804Z",
    "sent_at": "2026-03-14T08:20:26.924Z",
    "data": {
      "id": "bike_4711",
      "number": "4711",
      "vehicle_type_id": "electric",
      "vehicle_state": "available",
      "station_id": "HB103",
      "lat": 40.7359381,
      "lon": -74.0303054,
      "current_range_meters": 21400,
      "last_reported": "2026-03-14T08:20:26.000Z",
      "updated_at": "2026-03-14T08:20:26.804Z"
    }
  }
};
