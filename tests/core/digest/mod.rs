mod anchors;
mod lines;
mod names;
