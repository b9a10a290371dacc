// The commands of the command line: every endpoint that needs a key, and its parameters.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.

export const endpoints = {
  "stations list": {
    "summary": "List stations",
    "takesId": false,
    "parameters": {
      "status": {
        "description": "Only stations in this state",
        "values": [
          "planned",
          "online",
          "offline",
          "removed"
        ]
      },
      "region_id": {
        "description": "Only stations of this region"
      },
      "bbox": {
        "description": "Only stations within `min_lon,min_lat,max_lon,max_lat` (WGS 84 degrees, borders included); a min_lon greater than max_lon crosses the antimeridian"
      },
      "updated_since": {
        "description": "Only stations changed at or after this instant"
      }
    }
  },
  "stations get": {
    "summary": "One station",
    "takesId": true,
    "parameters": {}
  },
  "vehicleTypes list": {
    "summary": "List vehicle types",
    "takesId": false,
    "parameters": {}
  },
  "regions list": {
    "summary": "List regions",
    "takesId": false,
    "parameters": {}
  },
  "rides list": {
    "summary": "List rides",
    "takesId": false,
    "parameters": {
      "status": {
        "description": "Only rides in this state",
        "values": [
          "started",
          "completed",
          "cancelled"
        ]
      },
      "bike_id": {
        "description": "Only rides of this bike"
      },
      "station_id": {
        "description": "Only rides that started or ended at this station"
      },
      "started_after": {
        "description": "Only rides that started at or after this instant"
      },
      "started_before": {
        "description": "Only rides that started before this instant"
      },
      "updated_since": {
        "description": "Only rides changed at or after this instant"
      }
    }
  },
  "rides get": {
    "summary": "One ride",
    "takesId": true,
    "parameters": {}
  },
  "bikes list": {
    "summary": "List bikes",
    "takesId": false,
    "parameters": {
      "vehicle_state": {
        "description": "Only bikes in this state",
        "values": [
          "available",
          "reserved",
          "on_trip",
          "non_operational",
          "non_contactable",
          "missing",
          "removed"
        ]
      },
      "station_id": {
        "description": "Only bikes at this station"
      },
      "bbox": {
        "description": "Only bikes within `min_lon,min_lat,max_lon,max_lat` (WGS 84 degrees, borders included); a min_lon greater than max_lon crosses the antimeridian. Bikes without a position, such as those on a trip, are in no rectangle"
      },
      "updated_since": {
        "description": "Only bikes changed at or after this instant"
      }
    }
  },
  "bikes get": {
    "summary": "One bike",
    "takesId": true,
    "parameters": {}
  },
  "reservations list": {
    "summary": "List reservations",
    "takesId": false,
    "parameters": {
      "status": {
        "description": "Only reservations in this state",
        "values": [
          "active",
          "fulfilled",
          "cancelled",
          "expired"
        ]
      },
      "rider_ref": {
        "description": "Only reservations of this rider"
      },
      "bike_id": {
        "description": "Only reservations of this bike"
      },
      "ride_id": {
        "description": "Only the reservation that this ride fulfilled"
      },
      "updated_since": {
        "description": "Only reservations changed at or after this instant; an expiry changes one at its `expires_at`"
      }
    }
  },
  "reservations get": {
    "summary": "One reservation",
    "takesId": true,
    "parameters": {}
  },
  "reservations create": {
    "summary": "Reserve a bike",
    "takesId": false,
    "parameters": {
      "station_id": {
        "description": "Any bike of this station. Give this or `bike_id`, not both"
      },
      "bike_id": {
        "description": "This bike. Give this or `station_id`, not both"
      },
      "vehicle_type_id": {
        "description": "Only a bike of this type"
      },
      "rider_ref": {
        "description": "Your own mark for the rider, such as a random number: never a name, an e-mail address or a telephone number. A rider holds one bike at a time"
      },
      "hold_minutes": {
        "description": "Default 15, most 30",
        "isNumber": true
      }
    }
  },
  "reservations extend": {
    "summary": "Extend a reservation",
    "takesId": true,
    "parameters": {
      "hold_minutes": {
        "description": "Minutes more, counted from `expires_at`: at most 30, and the hold lasts at most 60 in all",
        "isNumber": true
      }
    }
  },
  "reservations cancel": {
    "summary": "Cancel a reservation",
    "takesId": true,
    "parameters": {}
  },
  "events list": {
    "summary": "List events",
    "takesId": false,
    "parameters": {
      "event": {
        "description": "Only events of this name",
        "values": [
          "ride.started",
          "ride.completed",
          "ride.cancelled",
          "ride.corrected",
          "station.offline",
          "station.online",
          "reservation.created",
          "reservation.cancelled",
          "reservation.expired",
          "reservation.fulfilled"
        ]
      },
      "after": {
        "description": "Only events after the one with this id: where you stopped last time. When that event is no longer kept, the answer is 410 `checkpoint_lost`"
      }
    }
  },
  "events get": {
    "summary": "One event",
    "takesId": true,
    "parameters": {}
  },
  "me get": {
    "summary": "Your key",
    "takesId": false,
    "parameters": {}
  }
} as const;
