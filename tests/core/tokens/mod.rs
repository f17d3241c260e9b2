mod calibration;
mod estimate;
mod exact;
mod long_pieces;
mod models;
