mod outcome;
